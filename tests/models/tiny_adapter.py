"""A small LoRA adapter for a small model, and a small model in the Hub's cache."""

import shutil
from pathlib import Path

from tests.own_home import HOME


def make_adapter(folder: Path, base: Path, *, seed: int = 0) -> Path:
    """Save a LoRA adapter of rank 4 with random weights, large enough that answers change; return its folder."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.5)
    model.save_pretrained(folder)
    return folder


def put_in_hub_cache(name: str, commits: dict[str, Path], refs: dict[str, str]) -> None:
    """Lay snapshots of a model into the Hub's cache of the tests: by commit, those of a folder; by branch or tag, the commit."""
    root = HOME / "hub" / f"models--{name.replace('/', '--')}"
    shutil.rmtree(root, ignore_errors=True)
    for commit, folder in commits.items():
        shutil.copytree(folder, root / "snapshots" / commit)
    for ref, commit in refs.items():
        (root / "refs").mkdir(exist_ok=True)
        (root / "refs" / ref).write_text(commit)
