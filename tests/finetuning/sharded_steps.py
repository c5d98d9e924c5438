"""Steps of one model whose weights are sharded over two processes with FSDP2, on CPUs.

torchrun --nproc_per_node 2 -m tests.finetuning.sharded_steps BASE OUT.pt
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM

from epbench.finetuning.packing import Schedule
from epbench.finetuning.steps import StepLoader, accumulate
from tests.finetuning.training_run import made_samples


def some_steps(model, rank, n_ranks):
    """Take the five steps of two epochs; the gradients of processes are averaged, as data-parallel training does."""
    samples = made_samples(12)
    loader = StepLoader(
        samples, Schedule(range(12), (), 2, 1), batch_size=5, row_tokens=128, rank=rank, n_ranks=n_ranks
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-5, weight_decay=1e-4)
    for epoch in (0, 1):
        loader.set_epoch(epoch)
        for step in loader:
            accumulate(model, step["rows"], step["n_learned"], lambda loss, last: (loss * n_ranks).backward())
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
    some_steps(model, dist.get_rank(), dist.get_world_size())
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        torch.save(state, sys.argv[2])
    dist.destroy_process_group()
