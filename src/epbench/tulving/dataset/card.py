"""The text of the dataset card of a Tulving book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from epbench.hub.card import card
from epbench.hub.dataset_folder import Config
from epbench.hub.responsible_use import ResponsibleUse
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.loop import MOST_ATTEMPTS, Description, Writing
from epbench.tulving.dataset.build import Recipe
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.events.universe_files import universe_name
from epbench.tulving.levels.plan import LEVELS
from epbench.tulving.questions.generate import BINS

_COLUMNS = """## Configs

| config | one row is | columns |
|---|---|---|
| `qa` (default) | a selected question | `id`; `template` (0-35); `cue`: which elements are given, of `t s e c`; `time`, \
`space`, `entity`, `content`: their values, null if not given; `trace`: what is asked for; `get`: `all`, `latest` or \
`chronological`; `question`; `answer`: the true items; `chapters`: all that match the cue; `n_chapters`; `bin`: `0`, \
`1`, `2`, `3-5` or `6+` by `n_chapters`; `origin`: `book`, or how an empty question was made (`inner`, `outer`) |
| `all_questions` | any question, before the selection | the same |
| `finetune` (split `train`) | a question with one matching chapter, as a dialogue | `id`, `messages` |
| `chapters` | a chapter with its event | `chapter`, `date` (ISO), `location`, `entity`, `content`, `detail`, `style`, \
`n_paragraphs`, `text`, `secondary_entities` |
| `book` | the whole book | `title`, `text` |

With `latest` an answer has one item; with `chronological` its items are in date order, and repeats are kept; with
`full_details` it is the chapter's text. An empty answer means that nothing in the book matches, and that the right reply
is to say so.
"""

_EVIDENCE_COLUMNS = """From level 2 on, `qa` also has `links` (over how many steps from chapter to chapter the answer follows) \
and `evidence` (the chapters and paragraphs that answer the question), and `chapters` has `facts`: in which words each fact \
is told, over how many links it follows, and which paragraphs prove it. At level 5, the templates 36 to 38 ask for `causes` \
and `states`.
"""

_USE = """## Use

```python
from datasets import load_dataset

questions = load_dataset("epbench/{name}", split="test")
book = load_dataset("epbench/{name}", "book", split="test")[0]["text"]
```

Score answers with `eval_scripts/tulving.py` of the package, or with the metrics `episodic_f1` and
`episodic_kendall_tau` on their own.
"""

_SOURCE = """## Source

The task (events, cues, templates, bins, scoring) is that of A. Huet, Z. Ben Houidi and D. Rossi, *Episodic Memories
Generation and Evaluation Benchmark for Large Language Models*, ICLR 2025,
[arXiv 2501.13121](https://arxiv.org/abs/2501.13121). {wording}

```bibtex
@inproceedings{{huet2025episodic,
  title = {{Episodic Memories Generation and Evaluation Benchmark for Large Language Models}},
  author = {{Huet, Alexis and Ben Houidi, Zied and Rossi, Dario}},
  booktitle = {{International Conference on Learning Representations}},
  year = {{2025}},
  url = {{https://arxiv.org/abs/2501.13121}}
}}
```
"""

_MAINTENANCE = (
    "The same command gives the same rows again, unless a model writes the chapters. Other rows or columns get a higher "
    "version and a tag of their own on the Hub; older tags stay."
)


def made_card(made_by: str, recipe: Recipe, data: BookData, configs: Sequence[Config]) -> str:
    """Return the README.md of a book that we made.

    Args:
        made_by: The command that makes the same dataset again.
        recipe: What the book was made from.
        data: The book.
        configs: The configs of its dataset.
    """
    assert data.writing is not None, "the card of a released book is `released_card`"
    card_of = _rules_card if data.writing.checker is None else _model_card
    return card_of(made_by, recipe, data, data.writing, configs)


def _rules_card(made_by: str, recipe: Recipe, data: BookData, writing: Writing, configs: Sequence[Config]) -> str:
    """README.md of a book that was written by rules, without a model."""
    description = writing.description or Description(
        made=f"composed by the rule-based writer `{writing.writer}`, without a language model",
        limits="The prose was composed by rules, so facts may be easier to find than in a novel.",
    )
    made = f"{_events(made_by, recipe, data)}; each chapter was {description.made}. {_checked(recipe)}"
    if writing.dropped:
        made += f" {_dropped(writing)}{_early(writing)}"
    limits = (
        f"{description.limits} Compare scores with those of other systems on this book, not with scores on a book by "
        f"another writer{_OTHER_LEVEL if recipe.level > 1 else ''}. {_INDEPENDENT if recipe.level < 5 else ''}"
    ).rstrip()
    wording = (
        "The wording and the prose are ours; the names of locations, people and events come from the user's universe."
        if data.universe_hash
        else "Names, locations, wording and prose are ours."
    )
    license = "unknown" if data.universe_hash else "mit"
    use = _responsible_use("rules composed the chapters", _names(data), limits)
    return _tulving_card(
        recipe.name, data, configs, made, limits, wording, license, use, level_text(recipe.level, data)
    )


_OTHER_LEVEL = " or of another level"
_INDEPENDENT = "Chapters are independent: no event causes another."


def _checked(recipe: Recipe) -> str:
    """What is certain of every chapter."""
    if recipe.level == 1:
        return (
            "Every chapter passed the exact checks: date, location, full name and detail occur word for word in the "
            "paragraph that its layout gives, and in no other."
        )
    checks = (
        "Every chapter passed the exact checks of its level: the words that tell its date, location, main character and detail "
        "occur in the paragraph that its layout gives, and in no other, and nothing else in it could be taken for these facts."
    )
    if recipe.level < 4:
        return checks
    return (
        f"{checks} A solver that reads only the text has found every fact of every chapter, from its evidence alone, and has not "
        "found it where any one paragraph of the evidence is missing."
    )


def level_text(level: int, data: BookData) -> str:
    """Return the section on the level of a book: what each level up to this one adds, with an example; "" at level 1."""
    if level == 1:
        return ""
    adds = [f"{number}. *{LEVELS[number].name}*: {LEVELS[number].adds}" for number in range(1, level + 1)]
    chapter = max(data.chapters, key=lambda one: (max(e.links for e in one.evidence.values()), len(one.text)))
    told = chapter.told or {}
    event = chapter.event
    facts = (("date", event.day), ("location", event.space), ("entity", event.entity))
    example = [
        f"| {fact} | {true} | {told[fact]} | {chapter.evidence[fact].links} | {_spots(chapter, fact)} |"
        for fact, true in facts
    ]
    return "\n".join(
        [
            f"## Level {level}\n",
            "Books of one seed have the same events at every level; each level adds to those below it:\n",
            *adds,
            f"\nAn example, chapter {chapter.number}:\n",
            "| | it is | told as | links | chapters and paragraphs that prove it |\n|---|---|---|---:|---|",
            *example,
            "",
        ]
    )


def _spots(chapter: Chapter, fact: str) -> str:
    return ", ".join(f"{spot.number}/{spot.paragraph}" for spot in sorted(chapter.evidence[fact].spots))


def _events(made_by: str, recipe: Recipe, data: BookData) -> str:
    """How the events were drawn, and from what."""
    universe = "a universe"
    if data.universe_hash:
        universe = (
            f"the user's own universe `{universe_name(recipe.universe)}` (hash of its files: `{data.universe_hash}`), "
            "which does not come with the package,"
        )
    return (
        f"By `{made_by}`: events are drawn from {universe} of {recipe.universe_size} dates, locations, people "
        "and kinds of event with truncated geometric probabilities; no two events share date and person, or date and "
        "location"
    )


def _model_card(made_by: str, recipe: Recipe, data: BookData, writing: Writing, configs: Sequence[Config]) -> str:
    """README.md of a book that a model wrote."""
    checker = writing.checker
    same = checker == writing.writer
    made = (
        f"{_events(made_by, recipe, data)}. The language model `{writing.writer}` wrote a chapter for each event. Its prompt "
        "gives the style, the number of paragraphs, and the paragraphs in which date, location, full name and detail "
        "must occur word for word. Every candidate went through the exact checks (each of the four in its paragraph "
        f"and in no other), and then through four questions to {'the same model' if same else f'another model, `{checker}`'}: "
        "are location, date, person and event right, and the only ones? Failed candidates were rewritten, at most "
        f"{MOST_ATTEMPTS} times.\n\n{_rounds(data, writing)}"
    )
    limits = (
        "It is certain that a chapter tells its facts. Whether it also tells a second location, date or event was "
        f"judged by {'the model that wrote it' if same else f'`{checker}`'}, which may err. The prose has the habits of "
        "its writer: compare scores with those of other systems on this book, not with scores on a book by another "
        f"writer{_OTHER_LEVEL if recipe.level > 1 else ''}. {_INDEPENDENT if recipe.level < 5 else ''}"
    ).rstrip()
    names = "the user's" if data.universe_hash else "ours"
    wording = (
        f"Names and locations are {names}, and the wording of the questions is ours; the prose is that of "
        f"`{writing.writer}`, and the terms of that model apply to it."
    )
    use = _responsible_use(f"the language model {writing.writer} wrote the chapters", _names(data), limits)
    level = level_text(recipe.level, data)
    return _tulving_card(recipe.name, data, configs, made, limits, wording, "unknown", use, level)


def _rounds(data: BookData, writing: Writing) -> str:
    """What came out of a model's rounds, and which events were dropped."""
    rounds = writing.iterations
    n_candidates, n_exact, n_llm = (
        sum(getattr(one, count) for one in rounds) for count in ("candidates", "failed_exact", "failed_llm")
    )
    failed = Counter[str]()
    for one in rounds:
        failed.update(one.failed_checks)
    return (
        f"In {len(rounds)} rounds {n_candidates:,} candidates gave {len(data.chapters):,} chapters; {n_exact:,} failed "
        f"an exact check, {n_llm:,} the model's{_listed(failed)}. {_dropped(writing)}{_early(writing)} `writing.json` "
        "has the numbers of each round, the dropped events, and the position of each fact in its chapter; "
        "`positions.svg` plots these positions."
    )


def _listed(failed: Mapping[str, int]) -> str:
    return f" ({', '.join(f'`{name}` {n}' for name, n in failed.items())})" if failed else ""


def _dropped(writing: Writing) -> str:
    if not writing.dropped:
        return "No event was dropped."
    named = [
        f"number {number} ({event.content}, {event.day}, {event.space}, {event.entity}: {', '.join(checks)})"
        for number, (event, checks) in writing.dropped.items()
    ]
    return f"Events without a chapter, with the checks that their last candidates failed: {'; '.join(named)}."


def _early(writing: Writing) -> str:
    return " The writing ended early because too many candidates in a row had failed." if writing.ended_early else ""


def released_card(made_by: str, name: str, folder: str, data: BookData, configs: Sequence[Config]) -> str:
    """Return the README.md of a published book that was converted.

    Args:
        made_by: The command that converts it.
        name: The name of the dataset.
        folder: The name of the book's folder in the archive.
        data: The book.
        configs: The configs of its dataset.
    """
    made = f"Converted from the published data (book `{folder}`) by `{made_by}`."
    limits = (
        "`qa` keeps the published questions word for word, in the published order; `all_questions` and `finetune` "
        "were generated anew from the published events, in our wording. The published questions were not drawn at "
        "random: for each template and bin they are the first five in alphabetical order of the cue."
    )
    wording = "The chapters and the questions of `qa` are theirs; see their licence before passing them on."
    use = _responsible_use("the authors of the paper had a language model write the chapters", _INVENTED, limits)
    return _tulving_card(name, data, configs, made, limits, wording, "unknown", use)


_INVENTED = "None is intended: people and events are invented. That a real person has one of the names is chance."


def _names(data: BookData) -> str:
    return "That of the names in the user's universe; the events are invented." if data.universe_hash else _INVENTED


def _responsible_use(writer: str, personal: str, limits: str) -> ResponsibleUse:
    return ResponsibleUse(
        collection=f"Nothing was collected: events were drawn at random from lists, and {writer}.",
        collection_types=["Others"],
        annotation=(
            "Nobody annotated anything. The right answers follow from the list of events from which the chapters were written."
        ),
        personal=personal,
        biases=(
            "English only, and the names, places and occasions of one universe. Some names occur in many chapters and "
            "most in few, by design. Every chapter has one main character and one event."
        ),
        limitations=limits,
        uses=(
            "To measure how well a language model, or a memory system around it, recalls when, where, who and what. Not "
            "to train models that are measured on it, unless what training on the book does is what is measured (config "
            "`finetune`), and not as a source of facts about people or places."
        ),
        impact=(
            "Better recall can make assistants more useful, and lets them keep more about their users; a high score says "
            "nothing about whether a system should remember."
        ),
        maintenance=_MAINTENANCE,
    )


def _tulving_card(
    name: str,
    data: BookData,
    configs: Sequence[Config],
    made: str,
    limits: str,
    wording: str,
    license: str,
    use: ResponsibleUse,
    level: str = "",
) -> str:
    text = "\n".join(
        [
            f"# {name}: a book of {len(data.chapters)} chapters, and questions on what it tells\n",
            "Every chapter tells one event whose elements are known exactly: its date, its location, its main character,",
            "the kind of event, and what the character does there. The questions give some of these elements and ask",
            "for others: for all matches, for the latest one, or for all in chronological order.\n",
            _numbers(data),
            *([level] if level else []),
            _COLUMNS,
            *([_EVIDENCE_COLUMNS] if level else []),
            _USE.format(name=name),
            f"## How it was made\n\n{made}\n",
            f"## Limits\n\n{limits}\n",
            _SOURCE.format(wording=wording),
        ]
    )
    return card(
        configs,
        text,
        pretty_name=f"epbench {name}: episodic memory of a book of {len(data.chapters)} chapters",
        license=license,
        tags=["episodic-memory", "long-context", "synthetic"],
        task_ids=["closed-domain-qa"],
        responsible_use=use,
    )


def _numbers(data: BookData) -> str:
    days = sorted(chapter.event.time for chapter in data.chapters)
    rows = [
        ("chapters", len(data.chapters)),
        ("words", data.n_words),
        ("first and last day", f"{days[0].isoformat()} to {days[-1].isoformat()}"),
        ("dates, locations, people, kinds of event", ", ".join(map(str, _distinct(data)))),
        ("questions, answerable and empty", f"{_n(data, True)} and {_n(data, False)}"),
        (
            "questions with one matching chapter (`finetune`)",
            sum(question.n_chapters == 1 for question in data.questions),
        ),
        ("selected questions", len(data.selected)),
    ]
    bins = Counter(question.bin for question in data.selected)
    rows += [(f"selected, {bin_} matching chapters", bins[bin_]) for bin_ in BINS]
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows), ""])


def _distinct(data: BookData) -> Sequence[int]:
    events = [chapter.event for chapter in data.chapters]
    return [
        len({event.time for event in events}),
        len({event.space for event in events}),
        len({event.entity for event in events}),
        len({event.content for event in events}),
    ]


def _n(data: BookData, answerable: bool) -> int:
    return sum((question.n_chapters > 0) == answerable for question in data.questions)
