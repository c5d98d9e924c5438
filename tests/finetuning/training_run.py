"""A small training run as a process of its own, which may end itself at a chosen moment.

python -m tests.finetuning.training_run BASE OUT [kill-place]
"""

import json
import os
import random
import signal
import sys
from itertools import count
from pathlib import Path

from epbench.files import json_files
from epbench.finetuning import trainer
from epbench.finetuning.launching import Ranks
from epbench.finetuning.packing import Sample, Schedule
from epbench.finetuning.recipe import Recipe

RECIPE = Recipe(num_train_epochs=3, batch_size=8, max_length=96, row_tokens=128, learning_rate=1e-3)


def made_samples(n=22, seed=0):
    draw = random.Random(seed)
    lengths = [draw.randrange(20, 90) for _ in range(n)]
    ids = [[1] + [draw.randrange(3, 200) for _ in range(length)] for length in lengths]
    return [Sample(f"made/{i}", "text", row, [False] + [True] * (len(row) - 1)) for i, row in enumerate(ids)]


def training(base: Path, out: Path, ranks: Ranks = Ranks(), recipe: Recipe = RECIPE, samples=None, steps=None):  # noqa: B008
    from transformers import AutoTokenizer

    samples = samples or made_samples()

    def after_step(record):
        if steps is not None:
            steps.append(record)
        print(json.dumps({"step": record["step"]}), flush=True)

    return trainer.Training(
        base=str(base),
        tokenizer=AutoTokenizer.from_pretrained(base),
        samples=samples,
        schedule=Schedule(range(len(samples)), (), recipe.num_train_epochs, recipe.seed),
        recipe=recipe,
        out=out,
        ranks=ranks,
        after_step=after_step,
        after_epoch=lambda epoch, folder: print(json.dumps({"epoch": epoch}), flush=True),
    )


def kill_at(place: str) -> None:
    """Have this process killed in its second epoch: in a step, while weights are written, or while the state is."""
    owner, name, n = {
        "step": (trainer, "accumulate", 5),
        "weights": (json_files, "write_json", 2),  # `write_weights` imports it when it is called
        "state": (trainer._StepTrainer, "_save_rng_state", 2),
    }[place]
    function, calls = getattr(owner, name), count(1)

    def counted(*args, **more):
        return os.kill(os.getpid(), signal.SIGKILL) if next(calls) == n else function(*args, **more)

    setattr(owner, name, counted)


if __name__ == "__main__":
    import torch
    from accelerate import PartialState

    torch.set_num_threads(1)
    if len(sys.argv) > 3:
        kill_at(sys.argv[3])
    state = PartialState(cpu=True)
    trainer.train(training(Path(sys.argv[1]), Path(sys.argv[2]), Ranks(state.process_index, state.num_processes)))
    state.destroy_process_group()  # a process that ends with open connections to the others may be aborted
