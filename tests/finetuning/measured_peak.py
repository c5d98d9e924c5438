"""Train a model with random weights for two steps of two rows, and print by how much that raised this process's peak.

Run as a process of its own, with one argument: JSON with `config`, `row_tokens`, `checkpointing` and `autocast`. Prints bytes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from tests.finetuning.small_configs import SHAPE


def train(config: dict[str, Any], row_tokens: int, checkpointing: bool, autocast: bool) -> None:
    """Train as the trainer does: a row of two samples at a time, float32 weights, clipped gradients, a fused AdamW."""
    model = AutoModelForCausalLM.from_config(LlamaConfig(**config), dtype=torch.float32).train()
    if checkpointing:
        model.activation_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    half = torch.arange(row_tokens // 2)
    positions = torch.cat([half, half])[None]
    for step in range(2):  # the optimizer has its states from the second on
        for row in range(2):
            ids = ((torch.arange(row_tokens) + step + row) % config["vocab_size"])[None]
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits[0, :-1].float(), ids[0, 1:])
            del logits
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def peak() -> int:
    """The most memory that this process has had, in bytes. (`getrusage` would count what its parent had as well.)"""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    train(
        {**SHAPE, "num_hidden_layers": 1}, 64, job["checkpointing"], job["autocast"]
    )  # so that the libraries have loaded what they load
    before = peak()
    train(**job)
    print(peak() - before)
