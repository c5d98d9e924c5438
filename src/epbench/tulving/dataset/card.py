"""The text of a Tulving book's dataset card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from epbench.hub.card import card
from epbench.hub.dataset_folder import Config
from epbench.tulving.chapters.loop import MOST_ATTEMPTS, Writing
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.build import Recipe
from epbench.tulving.dataset.schema import BookData
from epbench.tulving.questions.generate import BINS

_COLUMNS = """## Configs

| config | one row is | columns |
|---|---|---|
| `qa` (default) | a selected question | `id`; `template` (0-35); `cue`: which elements are given, of `t s e c`; `time`, \
`space`, `entity`, `content`: their values, null where not given; `trace`: what is asked for; `get`: `all`, `latest` or \
`chronological`; `question`; `answer`: the true items; `chapters`: all that match the cue; `n_chapters`; `bin`: `0`, \
`1`, `2`, `3-5` or `6+` by `n_chapters`; `origin`: `book`, or how an empty question was made (`inner`, `outer`) |
| `all_questions` | any question, before the selection | the same |
| `finetune` (split `train`) | a question of one matching chapter, as a dialogue | `id`, `messages` |
| `chapters` | a chapter with its event | `chapter`, `date` (ISO), `location`, `entity`, `content`, `detail`, `style`, \
`n_paragraphs`, `text`, `secondary_entities` |
| `book` | the whole book | `title`, `text` |

An answer of `latest` has one item; one of `chronological` is in date order with repeats kept; `full_details` holds the
chapter's text; an empty answer means that nothing in the book matches, and that the right thing to do is to say so.
"""

_USE = """## Use

```python
from datasets import load_dataset

questions = load_dataset("epbench/{name}", split="test")
book = load_dataset("epbench/{name}", "book", split="test")[0]["text"]
```

Score answers with `eval_scripts/tulving.py` of the package, or with the metrics `episodic_f1` and
`episodic_kendall_tau` alone.
"""

_SOURCE = """## Source

The task (events, cues, templates, bins, scoring) is that of A. Huet, Z. Ben Houidi and D. Rossi, *Episodic Memories
Generation and Evaluation Benchmark for Large Language Models*, ICLR 2025. {wording}
"""


def made_card(recipe: Recipe, data: BookData, configs: Sequence[Config]) -> str:
    """README.md of a book that we made."""
    if data.writing and data.writing.writer != TemplateWriter.name:
        return _model_card(recipe, data, data.writing, configs)
    made = (
        f"By `{recipe.command}`: events are drawn from a universe of {recipe.universe_size} dates, locations, people "
        "and kinds of event with truncated geometric probabilities, no two with the same date and person or the same "
        "date and location; each chapter was composed from banks of sentences by the template writer (no language "
        "model), and each passed the exact checks: date, location, full name and deed stand word for word in the "
        "planned paragraph and in no other."
    )
    limits = (
        "The prose is composed from templates: plainer and more alike than a model's, so that facts are easier to "
        "find than in a novel; a rule-based reader that sees the whole book finds nearly all of them. Scores compare "
        "with those of other systems on this book, not with those on a book by another writer. Chapters are "
        "independent: no event causes another."
    )
    return _tulving_card(recipe.name, data, configs, made, limits, "Names, places, wording and prose are ours.", "mit")


def _model_card(recipe: Recipe, data: BookData, writing: Writing, configs: Sequence[Config]) -> str:
    """README.md of a book that a model wrote."""
    rounds = writing.iterations
    n_candidates, n_exact, n_llm = (
        sum(getattr(one, count) for one in rounds) for count in ("candidates", "failed_exact", "failed_llm")
    )
    checker = writing.about.get("checker", writing.writer)
    same = checker == writing.writer
    failed = Counter[str]()
    for one in rounds:
        failed.update(one.failed_checks)
    made = (
        f"By `{recipe.command}`: events are drawn from a universe of {recipe.universe_size} dates, locations, people "
        "and kinds of event with truncated geometric probabilities, no two with the same date and person or the same "
        f"date and location. The language model `{writing.writer}` wrote a chapter for each by a prompt that fixes the "
        "style, the number of paragraphs, and in which of them date, location, full name and deed stand word for "
        "word. Every candidate went through the exact checks (each of the four in its paragraph and in no other), and "
        f"then through four questions to {'the same model' if same else f'another model, `{checker}`'}: are place, date, "
        "person and event right, and the only ones? "
        f"What failed was written anew, {MOST_ATTEMPTS} times at most.\n\n"
        f"In {len(rounds)} rounds {n_candidates:,} candidates gave {len(data.chapters):,} chapters; {n_exact:,} failed "
        f"an exact check, {n_llm:,} the model's{_listed(failed)}. {_dropped(writing)}{_early(writing)} `writing.json` has "
        "the numbers round by round, what was dropped, and where in its chapter each fact is told; `positions.svg` shows "
        "the latter."
    )
    limits = (
        "That a chapter tells its facts is certain; that it tells no second place, date or event was judged by "
        f"{'the model that wrote it' if same else f'`{checker}`'}, which may err. The prose has its writer's habits: scores "
        "compare with those of other systems on this book, not with those on a book by another writer. Chapters are "
        "independent: no event causes another."
    )
    wording = (
        f"Names, places and the wording of the questions are ours; the prose is that of `{writing.writer}`, and the "
        "terms of that model apply to it."
    )
    return _tulving_card(recipe.name, data, configs, made, limits, wording, "unknown")


def _listed(failed: Mapping[str, int]) -> str:
    return f" ({', '.join(f'`{name}` {n}' for name, n in failed.items())})" if failed else ""


def _dropped(writing: Writing) -> str:
    if not writing.dropped:
        return "No event was dropped."
    named = [
        f"number {number} ({event.content}, {event.day}, {event.space}, {event.entity}: {', '.join(checks)})"
        for number, (event, checks) in writing.dropped.items()
    ]
    return f"Dropped for want of a chapter, with the checks that the last candidate failed: {'; '.join(named)}."


def _early(writing: Writing) -> str:
    return " The writing ended early, since too many candidates in a row had failed." if writing.ended_early else ""


def released_card(name: str, folder: str, data: BookData, configs: Sequence[Config]) -> str:
    """README.md of a published book that was converted; `folder` is its name in the archive."""
    made = f"Converted from the published data (book `{folder}`) by `python builders/tulving.py --released …`."
    limits = (
        "`qa` keeps the published questions word for word, in the published order; `all_questions` and `finetune` "
        "were made anew from the published events, in our wording. The published questions were not drawn at "
        "random: of each template and bin they are the first five in alphabetical order of the cue."
    )
    wording = "Chapters and the questions of `qa` are theirs; see their licence before passing them on."
    return _tulving_card(name, data, configs, made, limits, wording, "unknown")


def _tulving_card(
    name: str, data: BookData, configs: Sequence[Config], made: str, limits: str, wording: str, license: str
) -> str:
    text = "\n".join(
        [
            f"# {name}: a book of {len(data.chapters)} days, and what one should remember of them\n",
            "Every chapter tells one event that is known to the letter: when, where, who, at what, doing what. The",
            "questions give some of these elements and ask for others, for all matches, for the latest state or for",
            "the order in time.\n",
            _numbers(data),
            _COLUMNS,
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
    )


def _numbers(data: BookData) -> str:
    days = sorted(chapter.event.time for chapter in data.chapters)
    rows = [
        ("chapters", len(data.chapters)),
        ("words", len(data.book().split())),
        ("first and last day", f"{days[0].isoformat()} to {days[-1].isoformat()}"),
        ("dates, locations, people, kinds of event", ", ".join(map(str, _distinct(data)))),
        ("questions, answerable and empty", f"{_n(data, True)} and {_n(data, False)}"),
        ("questions of one chapter (`finetune`)", sum(question.n_chapters == 1 for question in data.questions)),
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
