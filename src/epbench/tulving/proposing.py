"""Let a model propose the universe of a theme: lists of texts, asked for in rounds until enough of them pass, and its files.

`data/proposing.toml` declares the lists. The checks of a text are those of a user's own universe; the `form` of a part also
refuses what only a chapter would show. A text that passes is kept, and only what is missing is asked for again, with what was
wrong. A request depends on nothing but the prompts and the replies before it, so a command that was stopped finds its replies
in the journal and asks nothing twice.

Paper: Appendix B.1.1 and Listing 2: twice as many locations as are wanted, then a review that keeps the distinct ones. Here
contents are reviewed, too; a kind of event that does not get its details or its scene gives way to a spare one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from epbench.errors import BadInput, UnusableReply
from epbench.files.packaged import packaged
from epbench.files.text import parse_toml, read_text, shown
from epbench.files.typed import typed
from epbench.files.writing import replacing, write_text
from epbench.journals.journal import Journal, Record
from epbench.judges.model import object_schema
from epbench.models.protocol import Model, Request, Sampling
from epbench.models.replies import last_object_with
from epbench.progress import Progress, no_progress
from epbench.runs.usage import commonest, replies_to
from epbench.tulving.events.universe import load_universe
from epbench.tulving.events.universe_files import (
    DATA,
    SCENE_FILES,
    check_folder_name,
    check_names,
    check_no_location,
    check_own_name,
    check_text,
    read_settings,
    universe_names,
)
from epbench.tulving.scenes.scene_files import check_phrase, check_sentence, check_unnamed, load_scenery


class Part(Struct, frozen=True):
    """How many texts of a part are asked for and needed, their pattern, and how a message names it."""

    asked: int
    needed: int
    form: str = r".*[\w)'’]"
    expected: str = "a phrase without a mark at its end"


class Pack(Struct, frozen=True):
    """Prompts by list, the parts of those whose length is fixed, and what frames them; our file says what each is for."""

    system: str
    reply: str
    known: str
    repair: str
    prompts: dict[str, str]
    parts: dict[str, dict[str, Part]]


def load_pack(path: Path | None = None) -> Pack:
    """Return our pack, or that of a file, whose parts are ours; BadInput if it is not one, or a prompt is missing."""
    own = packaged("epbench.tulving", "proposing.toml")
    ours, pack = (typed(str(file), parse_toml(read_text(file)), Pack) for file in (own, path or own))
    for name in ours.prompts:
        if "{theme}" not in pack.prompts.get(name, ""):
            raise BadInput(f"{path}, prompts.{name}: expected a prompt with {{theme}}")
    return replace(pack, parts=ours.parts)


def check(
    task: str, part: str, form: Part, text: str, kept: Mapping[str, Sequence[str]], beside: Collection[str]
) -> None:
    """Refuse a text that cannot be in a part of a list, of which `kept` has the texts that have passed, by part.

    `beside` has, for settings, the fewest days; for contents and details the locations; for a review what is reviewed;
    for a scene the kind of event; for names the words of all other texts, case-folded.
    """
    if not re.fullmatch(form.form, text) or (task == "review" and text not in beside):
        raise BadInput(f"{part}: expected {form.expected}, found {shown(text)}")
    known = [name for names in kept.values() for name in names] if task in ("locations", "names") else kept[part]
    check_text(part, text)
    check_names([*known, text, *(beside if task == "contents" else ())], part)
    if part in ("begin", "middle", "end", "air"):
        check_sentence(part, text)
    elif task in ("place", "scene"):
        check_phrase(part, text)
    if task == "scene":
        check_unnamed(part, text, *beside)
    elif task == "details":
        check_no_location(part, text, beside)
    elif task == "names":
        check_own_name(part, text, f"{part}.txt", beside)
    elif part in ("first_day", "last_day"):
        try:
            between = date.fromisoformat(text) - date.fromisoformat([*kept["first_day"], text][0])
        except ValueError:
            raise BadInput(f"{part}: expected a day of the calendar, found {text!r}") from None
        if part == "last_day" and between.days + 1 < (days := int(*beside)):
            raise BadInput(f"{part}: expected a day at least {days} days after the first, found {text!r}")


ROUNDS = 4
"""How many times as many requests a list may take as it does if every text passes."""
PER_REQUEST = 40  # texts of a part
MOST_FAULTS = 20  # that a prompt repeats
REPLIES, PROPOSALS = "replies.jsonl", "proposals.jsonl"


@dataclass
class Wanted:
    """A list that is asked for, and what there is of it."""

    task: str  # which list of the pack it is
    parts: Mapping[str, Part]  # its parts
    # What fills the prompt; `subject` is the kind of event or of location that it is about, if any
    values: Mapping[str, str]
    beside: Collection[str] = ()  # other texts of the universe with which its texts must agree; see `check`
    kept: dict[str, list[str]] = field(default_factory=dict)  # the texts that have passed, by part
    refused: list[str] = field(default_factory=list)  # why texts were refused
    rounds: int = 0  # how many requests were made
    _faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kept = {part: [] for part in self.parts}
        self.subject = self.values.get("subject", "")
        self.label = f"{self.task} of {self.subject}" if self.subject else self.task

    @property
    def missing(self) -> dict[str, int]:
        """How many texts the next request asks for, by part; none if the list is complete."""
        lengths = [(part, form, len(self.kept[part])) for part, form in self.parts.items()]
        return {part: min(form.asked - n, PER_REQUEST) for part, form, n in lengths if n < form.needed}

    @property
    def goes_on(self) -> bool:
        """Whether there is another request to make."""
        usual = -(-max(form.asked for form in self.parts.values()) // PER_REQUEST)
        return bool(self.missing) and self.rounds < ROUNDS * usual

    def prompt(self, pack: Pack) -> str:
        """Return the next prompt: the task, the form of the reply, what there is, and what was wrong with the last reply."""
        task, kept = pack.prompts[self.task], [text for texts in self.kept.values() for text in texts]
        for name, value in self.values.items():
            task = task.replace(f"{{{name}}}", value)
        wanted = [f'- "{part}": {n}' for part, n in self.missing.items()]
        there = [pack.known, json.dumps(kept, ensure_ascii=False)] if kept else []
        faults = [pack.repair, *self._faults[:MOST_FAULTS]] if self._faults else []
        return "\n".join([task, pack.reply, *wanted, *there, *faults])

    def read(self, record: Record) -> Iterator[dict[str, str]]:
        """Keep the texts of a reply that pass, and yield what became of each; more than asked for are left out."""
        self._faults = []
        for part, text, fault in _texts_of(record, self.missing):
            try:
                if fault:
                    raise BadInput(fault)
                form = self.parts[part]
                if len(self.kept[part]) < form.asked:
                    check(self.task, part, form, text, self.kept, self.beside)
                    self.kept[part].append(text)
                    yield {"part": part, "text": text}
            except BadInput as error:
                self.refused.append(str(error))
                self._faults.append(f"- {shown(text)}: {error}" if text else f"- {error}")
                yield {"part": part, "text": text, "refused": str(error)}
        self.rounds += 1


def _texts_of(record: Record, parts: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """The texts of a reply, each with its part and without a fault, or the fault of the whole reply."""
    try:
        if record.get("failure") is not None:
            raise UnusableReply(f"the reply was not usable: {record['failure']}")
        reply = typed("the reply", last_object_with(record["answer"], next(iter(parts))), dict[str, list[str]])
    except (BadInput, UnusableReply) as error:
        return [("", "", str(error))]
    return [(part, " ".join(text.split()), "") for part in parts for text in reply.get(part, ())]


@dataclass
class Proposer:
    """Asks a model, in a folder that holds its replies and what became of each text, open for this process alone."""

    model: Model
    folder: Path
    pack: Pack
    sampling: Sampling
    progress: Progress = no_progress
    requests: list[Request] = field(default_factory=list)

    def collect(self, *wanted: Wanted) -> list[Wanted]:
        """Ask for some lists side by side, and return those that are complete; RunFailed if requests got no answer."""
        journal = Journal(self.folder / PROPOSALS)
        while open_ := [one for one in wanted if one.goes_on]:
            requests, label = [self.request(one) for one in open_], f"{open_[0].task}, round {open_[0].rounds + 1}"
            records = replies_to(self.folder / REPLIES, requests, self.model, self.progress, label)
            self.requests += requests
            for one, record in zip(open_, records, strict=True):
                for number, outcome in enumerate(one.read(record)):
                    if not journal.done(key := f"{record['key']}/{number}"):
                        journal.add(key, list=one.label, round=one.rounds + 1, **outcome)
        journal.close()
        return [one for one in wanted if not one.missing]

    def request(self, wanted: Wanted) -> Request:
        """Return the next request for a list."""
        schema = object_schema({part: {"type": "array", "items": {"type": "string"}} for part in wanted.missing})
        prompt = wanted.prompt(self.pack)
        return Request(wanted.label, self.pack.system, "", prompt, self.sampling, wanted.rounds, schema)


class Planner(Proposer):
    """Notes the requests without making them, as if every text passed."""

    def collect(self, *wanted: Wanted) -> list[Wanted]:
        """See `Proposer.collect`; the texts are stand-ins."""
        for one in wanted:
            while missing := one.missing:
                self.requests.append(self.request(one))
                for part, n in missing.items():
                    one.kept[part] += [f"{part} {len(one.kept[part]) + i} of {one.label}" for i in range(n)]
        return [*wanted]


SPARE, REVIEWED = 2, 1.2
"""Locations and contents that are asked for, and those that the review should keep, over those that are wanted."""

Texts = Mapping[str, Sequence[str]]


def check_wanted(folder: Path, kept: Path, theme: str, size: int) -> None:
    """Refuse names, themes and sizes that no universe can have, and a folder without the replies of this model."""
    check_folder_name(folder, folder.name)
    if folder.name in universe_names():
        raise BadInput(f"{folder.name}: a universe of the package has this name; choose another one")
    if not theme.strip() or not theme.isprintable():
        raise BadInput("theme: expected one line of text")
    if size < 2:
        raise BadInput(f"universe of {size}: expected at least 2")
    if folder.exists() and not kept.exists():
        raise BadInput(f"{folder} exists and was not proposed by this model; choose another name or folder")


def propose(proposer: Proposer, theme: str, size: int, with_scenes: bool = True) -> dict[str, str]:
    """Ask for all parts of a universe, so many locations and contents, and return its files: their texts by name.

    Those that books of level 2 and higher need, asked for `with_scenes`, are left out if no kind of location or too few
    kinds of event pass. BadInput if too few texts of another list pass; RunFailed if requests got no answer, and all replies so
    far are kept.
    """
    about, parts, spare = {"theme": theme}, proposer.pack.parts, SPARE * size
    settings = _complete(proposer, Wanted("settings", parts["settings"], about | {"days": str(size)}, [str(size)]))
    kinds = _complete(proposer, Wanted("kinds", parts["kinds"], about))["kinds"]
    told = [Wanted("place", parts["place"], about | {"subject": kind}) for kind in kinds if with_scenes]
    places = {one.subject: one.kept for one in proposer.collect(*told)}

    by_kind = -(-spare // len(places or kinds))
    locations = Wanted("locations", dict.fromkeys(places or kinds, Part(by_kind, by_kind)), about)
    proposer.collect(locations)
    in_turn = [name for names in zip_longest(*locations.kept.values()) for name in names if name]
    spaces = _reviewed(proposer, locations, in_turn, size)[:size]
    contents = Wanted("contents", {"contents": Part(spare, spare)}, about, spaces)
    proposer.collect(contents)
    listed = _reviewed(proposer, contents, contents.kept["contents"], size)
    details, scenes = _described(proposer, about, listed, spaces, size, bool(places))

    words = {*re.findall(r"[\w'’-]+", _json([spaces, details]).casefold())}
    each = Part(size, size // 2 + 1, r"\S+", "one word")
    names = _complete(proposer, Wanted("names", {"first": each, "last": each}, about, words))
    files = {
        "universe.toml": _settings_file(f"{theme}, proposed by {proposer.model.name}", settings),
        "locations.csv": "\n".join(["name", *('"' + name.replace('"', '""') + '"' for name in spaces)]),
        "contents.json": _json(details, indent=1),
        **{f"{part}.txt": "\n".join(listed) for part, listed in names.items()},
    }
    if scenes:
        kind_of = {name: kind for kind, listed in locations.kept.items() for name in listed if name in spaces}
        both = scenes, {"kinds": {kind: _place(texts) for kind, texts in places.items()}, "kind_of": kind_of}
        files |= {name: _json(content, indent=1) for name, content in zip(SCENE_FILES, both, strict=True)}
    return {name: text + "\n" for name, text in files.items()}


def _complete(proposer: Proposer, wanted: Wanted) -> Texts:
    proposer.collect(wanted)
    for part in wanted.missing:
        found, needed = len(wanted.kept[part]), wanted.parts[part].needed
        raise _too_few(proposer, f"{wanted.label} ({part})", found, needed, [wanted])
    return wanted.kept


def _too_few(proposer: Proposer, what: str, found: int, needed: int, asked: Sequence[Wanted]) -> BadInput:
    refused = commonest(reason for one in asked for reason in one.refused)
    return BadInput(
        f"{proposer.model.name}: {found} of {needed} {what} passed the checks{refused}; the replies are kept in "
        f"{proposer.folder}; choose another model, other prompts or a smaller universe"
    )


def _reviewed(proposer: Proposer, wanted: Wanted, texts: Sequence[str], size: int) -> list[str]:
    """The texts that the model keeps, and behind them the others."""
    if len(texts) < size:
        raise _too_few(proposer, wanted.label, len(texts), size, [wanted])
    n = min(len(texts), round(REVIEWED * size))
    values = {**wanted.values, "subject": wanted.task, "texts": _json(texts)}
    review = Wanted("review", {"keep": Part(n, n, ".+", "one of the texts")}, values, texts)
    proposer.collect(review)
    return sorted(texts, key=lambda text: text not in review.kept["keep"])


def _described(
    proposer: Proposer, about: dict[str, str], spare: list[str], spaces: Sequence[str], size: int, with_scenes: bool
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The details and the scenes of so many contents; no scenes if too few contents have one."""
    details, scenes, asked, parts = dict[str, list[str]](), dict[str, Any](), list[Wanted](), proposer.pack.parts
    while spare and (missing := size - len(scenes if with_scenes else details)) > 0:
        tried, spare = [about | {"subject": content} for content in spare[:missing]], spare[missing:]
        asked += (lists := [Wanted("details", parts["details"], values, spaces) for values in tried])
        told = proposer.collect(*lists)
        details |= {one.subject: one.kept["details"] for one in told}
        if with_scenes:
            acted = proposer.collect(*(Wanted("scene", parts["scene"], one.values, [one.subject]) for one in told))
            scenes |= {one.subject: one.kept | {"people": one.kept["people"][0]} for one in acted}
            with_scenes = bool(scenes)
    if len(details) < size:
        raise _too_few(proposer, "contents with enough details", len(details), size, asked)
    scenes = scenes if len(scenes) >= size else {}
    chosen = [*(scenes or details)][:size]
    return {content: details[content] for content in chosen}, {content: scenes[content] for content in chosen if scenes}


def _settings_file(comment: str, settings: Texts) -> str:
    """The text of `universe.toml`; each style has the three adjectives that our universes give it."""
    ours = [read_settings(DATA / f"universes/{name}/universe.toml")["styles"] for name in universe_names()]
    adjectives = {style: words for table in ours for style, words in table.items()}
    lines = [f"# {comment}", f"start = {settings['first_day'][0]}", f"end = {settings['last_day'][0]}"]
    lines += [f'kind = "{settings["kind"][0]}"', "\n[styles]"]
    lines += [f"{style} = {_json(adjectives.get(style))}" for style in settings["styles"]]
    lines += ["\n[qualifiers]", f"spaces = {_json(settings['spaces'])}", f"contents = {_json(settings['events'])}"]
    return "\n".join(lines)


def _place(texts: Texts) -> dict[str, Any]:
    told = {"indoors": texts["setting"] == ["indoors"], "preposition": texts["preposition"][0]}
    return told | {part: texts[part] for part in ("features", "air")}


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def write_universe(folder: Path, files: Mapping[str, str], size: int) -> None:
    """Write a folder that appears only if it passes all checks of a user's own universe; BadInput names the file at fault."""
    with replacing(folder) as draft:
        for name, text in files.items():
            write_text(draft / name, text)
        universe = load_universe(str(draft), size)
        if SCENE_FILES[0] in files:
            load_scenery(universe)
