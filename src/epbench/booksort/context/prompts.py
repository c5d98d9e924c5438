"""Prompt packs: all prompts in one file that can be replaced (`data/sort_prompts.toml` is ours).

Prompts of the reference implementation can be read too: a YAML file, or a folder of them, with one prompt each. Their keys
are `system_prompt`, `pre_excerpt` (the reading instruction, with `<excerpt>`), `post_excerpt` (the task, with `<segments>`)
and `model_answer_prefix`; `system`, `reading`, `task` and `answer_start` work as well. `<booktitle>` may appear anywhere.
`<label_list[0]>` and `<label_0>` stand for Segment A, `<label_list[1]>` and `<label_1>` for Segment B, `<tasktype>` and
`<position>` for "first". Other keys are ignored, and anything that a file lacks comes from our pack.
Paper: Appendix C.2 to C.4.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files import prompt_packs
from epbench.files.packaged import packaged
from epbench.files.prompt_packs import Section, Words, checkout, placeholders, text_at
from epbench.files.text import check_size, kind_of, parse_toml, shown

OWN = packaged("epbench.booksort", "sort_prompts.toml")
ALONE = 8  # the query that consists of the two segments alone, the best one in Table 8
SEARCH_RESULTS = 7  # the reading of passages that was best for two of the paper's four models (Table 10)

# The placeholders that each text must contain once, and those that it may contain.
_HOLDS: dict[str, tuple[set[str], set[str]]] = {
    "system": (set(), set()),
    "answer_start": (set(), set()),
    "readings": ({"excerpt"}, {"title"}),
    "tasks": ({"segments"}, {"title"}),
    "segments": ({"first", "second"}, set()),
    "full_book": ({"book"}, {"title"}),
    "queries": ({"segments"}, {"title"}),
    "passage_readings": ({"passages"}, {"title"}),
}
_LISTS = ("readings", "tasks", "queries", "passage_readings")

_YAML_KEYS = {
    "system_prompt": "system", "pre_excerpt": "readings", "post_excerpt": "tasks", "model_answer_prefix": "answer_start",
    "system": "system", "reading": "readings", "task": "tasks", "answer_start": "answer_start",
}  # fmt: skip
_YAML_WORDS = {
    "<booktitle>": "{title}", "<excerpt>": "{excerpt}", "<segments>": "{segments}",
    "<label_list[0]>": "Segment A", "<label_list[1]>": "Segment B", "<label_0>": "Segment A", "<label_1>": "Segment B",
    "<tasktype>": "first", "<position>": "first",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt."""

    system: str  # system prompt; may be empty
    reading: str  # frame of an excerpt, with `{excerpt}` and optionally `{title}`
    task: str  # frame of the segments, with `{segments}` and optionally `{title}`
    answer_start: str  # how the answer begins


@dataclass(frozen=True, slots=True)
class Pack:
    """A prompt pack."""

    prompts: dict[int, Prompt]  # the prompts by number; ours are 1 to 12
    segments: str  # frame of the two segments; `{first}` is shown as A and `{second}` as B
    full_book: str  # replaces a prompt's reading for whole books, with `{book}` and optionally `{title}`
    queries: tuple[str, ...]  # what is searched for, numbered from 0, with `{segments}` and optionally `{title}`
    # Replace a prompt's reading for passages, numbered from 0, with `{passages}` and optionally `{title}`.
    passage_readings: tuple[str, ...]

    @property
    def usual(self) -> int:
        """Number of the prompt that is asked unless another one is chosen: 3, or the first of a pack without it."""
        return 3 if 3 in self.prompts else min(self.prompts)


def load_prompts(path: Path | None = None) -> Pack:
    """Load our pack, a TOML file with the same keys, a YAML file, or a folder of YAML files (see above); else BadInput."""
    path = path or OWN
    if path.is_dir() or path.suffix in (".yaml", ".yml"):
        return _of_yaml(path, _YAML_WORDS)
    if not path.is_file():
        raise BadInput(f"{path}: expected a prompt pack in TOML or prompts in YAML, but there is no such file")
    try:
        content = parse_toml(path.read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"{path}: expected TOML ({error})") from None
    return _pack(path, content)


def read_wording(given: str | None) -> dict[str, Pack]:
    """Return the pack of a file of wording as its `reader`; nothing if no file is given.

    From `published:FOLDER_OR_ZIP` come the prompts in a copy of the reference (bridge-ai-neuro/SORT), whose labels are
    A and B, and whose texts stand between stars. BadInput: see `epbench.files.prompt_packs.read_wording`.
    """
    kind, _, place = (given or "").partition(":")
    if kind != "published":
        return prompt_packs.read_wording(given, WORDS, OWN)
    words = {"<excerpt>": "*{excerpt}*", "<label_list[0]>": "A", "<label_list[1]>": "B"}
    slots = {"cfg.label_list[0]": "A", "cfg.label_list[1]": "B", "segment_1": "*{first}*", "segment_2": "*{second}*"}
    with checkout(Path(place)) as root:
        pack = _of_yaml(root / "sort/evaluation/conf/prompts", _YAML_WORDS | words)
        here = {"file": "sort/evaluation/evaluation.py", "slots": slots}
        return {"reader": replace(pack, segments=text_at(root, ["experiment", "segments_prompt"], here))}


def _pack(path: Path | Section, content: Mapping[str, Any]) -> Pack:
    """The pack of these texts; those of a section are taken to the letter."""
    keys = (*_HOLDS, "prompts")
    for key in (*keys, *content):
        if key not in content or key not in keys:
            problem = "missing" if key not in content else "unknown"
            raise BadInput(f"{path}, key {key!r}: {problem}; a pack has {', '.join(keys)}")
    text = {key: _texts(path, key, content[key]) if key in _LISTS else () for key in _HOLDS}
    single = {key: _text(path, f"{path}, key {key!r}", key, content[key]) for key in _HOLDS if key not in _LISTS}
    prompts = {}
    for number, chosen in enumerate(content["prompts"] if isinstance(content["prompts"], list) else [None], 1):
        where = f"{path}, key 'prompts', number {number}"
        if not isinstance(chosen, list) or len(chosen) != 2 or not all(type(n) is int for n in chosen):
            raise BadInput(f"{where}: expected the numbers of a reading and a task, got {chosen!r}")
        for n, key in zip(chosen, ("readings", "tasks"), strict=True):
            if not 1 <= n <= len(text[key]):
                raise BadInput(f"{where}: expected a number of {key} from 1 to {len(text[key])}, got {n}")
        reading, task = chosen
        prompts[number] = Prompt(
            single["system"], text["readings"][reading - 1], text["tasks"][task - 1], single["answer_start"]
        )
    if not prompts:
        raise BadInput(f"{path}, key 'prompts': expected at least one prompt, got none")
    return Pack(prompts, single["segments"], single["full_book"], text["queries"], text["passage_readings"])


WORDS = {"reader": Words(OWN, lambda section: _pack(section, section.content))}


def _of_yaml(path: Path, words: Mapping[str, str]) -> Pack:
    """Read prompts of the reference, numbered from 1 in the order of the numbers in their file names."""
    files = [path]
    if path.is_dir():
        named = {file: re.findall(r"\d+", file.stem) for file in path.iterdir() if file.suffix in (".yaml", ".yml")}
        files = sorted(named, key=lambda file: (int(named[file][-1]) if named[file] else -1, file.name))
    if not files:
        raise BadInput(f"{path}: expected one YAML file for each prompt, got none")
    defaults = load_prompts()
    prompts = {i: _yaml_prompt(file, defaults.prompts[1], words) for i, file in enumerate(files, 1)}
    return replace(defaults, prompts=prompts)


def _yaml_prompt(path: Path, default: Prompt, words: Mapping[str, str]) -> Prompt:
    import yaml  # type: ignore[import-untyped]

    try:
        check_size(path)
        content = yaml.safe_load(path.read_text("utf-8"))
    except BadInput:
        raise
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise BadInput(f"{path}: expected YAML ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: expected keys such as pre_excerpt and post_excerpt, got {kind_of(content)}")
    present = {ours: (key, content[key]) for key, ours in _YAML_KEYS.items() if content.get(key) is not None}
    for ours, yaml_key in (("readings", "pre_excerpt"), ("tasks", "post_excerpt")):
        if ours not in present:
            raise BadInput(f"{path}, key {yaml_key!r}: missing; a file may have {', '.join(_YAML_KEYS)}")
    texts = {"system": default.system, "answer_start": default.answer_start}
    for ours, (key, value) in present.items():
        where = f"{path}, key {key!r}"
        if isinstance(value, str):
            value = _with_words(where, value, words)
        texts[ours] = _text(path, where, ours, value)
    return Prompt(texts["system"], texts["readings"], texts["tasks"], texts["answer_start"])


def _with_words(where: str, text: str, words: Mapping[str, str]) -> str:
    """A text of the reference with our placeholders in the place of its marks; a literal brace is doubled."""

    def translated(match: re.Match[str]) -> str:
        if match[0] not in words:
            raise BadInput(f"{where}: expected one of {', '.join(words)}, got {match[0]}")
        return words[match[0]]

    braced = text.replace("{", "{{").replace("}", "}}")
    return re.sub(r"<[a-z_\d]+(?:\[\d\])?>", translated, braced)


def _texts(path: Path | Section, key: str, texts: Any) -> tuple[str, ...]:
    if not isinstance(texts, list) or not texts:
        raise BadInput(f"{path}, key {key!r}: expected a list of strings, got {shown(texts)}")
    return tuple(_text(path, f"{path}, key {key!r}, number {i}", key, text) for i, text in enumerate(texts))


def _text(path: Path | Section, where: str, key: str, text: Any) -> str:
    if not isinstance(text, str):
        raise BadInput(f"{where}: expected a string, got {shown(text)}")
    counts = Counter(placeholders(where, text))
    must, may = _HOLDS[key]
    for name in sorted(must):
        if counts[name] != 1:
            raise BadInput(f"{where}: expected {{{name}}} once, got it {counts[name]} times")
    if unknown := sorted(counts.keys() - must - may):
        raise BadInput(f"{where}: unknown placeholder {{{unknown[0]}}}")
    if not must:
        return text.format()
    return text if isinstance(path, Section) else text.strip("\n")
