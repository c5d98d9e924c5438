"""Books that tests read, and every number about them, counted again from their files by plain loops."""

import csv
import json
import zipfile
from collections import Counter
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

from epbench.tulving.dataset.build import Recipe, draw_outline
from epbench.tulving.events.universe_files import read_universe_files
from epbench.tulving.judging.realism import RATINGS as RATED
from tests.conftest import Once
from tests.published_data import OURS
from tests.scripts import in_process
from tests.tulving.scripted_writer import ScriptedWriter

BINS = ("0", "1", "2", "3-5", "6+")
OFTEN = BINS[1:]
ELEMENTS, COLUMNS = ("time", "space", "entity", "content"), ("date", "location", "entity", "content")
OUTLINE = draw_outline(Recipe("short"))
_SEVERAL = [number for number, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3]
MISTAKES = {
    _SEVERAL[0]: ["date in another paragraph", "place in two paragraphs"],
    _SEVERAL[1]: ["name forgotten", "a second date", "numbers from 2"],
    _SEVERAL[2]: ["a second person", "a second event"],
    _SEVERAL[3]: ["deed forgotten"] * 9 + ["a second date"],
}
"""By number of the event the mistakes of its candidates; the last event never gets a chapter."""


def built(once: Once, name: str, *args: object) -> Path:
    """The folder of a dataset that the builder makes once per run of the tests."""

    def build(out: Path) -> None:
        done = in_process.script("builders/tulving.py", *args, "--out", out)
        assert done.returncode == 0, done.stderr

    (folder,) = [path for path in once(name, build).iterdir() if (path / "README.md").is_file()]
    return folder


def written(once: Once) -> Path:
    """The short book written by a model behind an endpoint, with mistakes."""
    with ScriptedWriter(OUTLINE.universe, OUTLINE.events, MISTAKES).endpoint() as endpoint:
        options = ("--writer", "openai:tiny", "--base-url", endpoint.url, "--window", 32768)
        return built(once, "paper-written", "--book", "short", *options)


def ordered(once: Once) -> Path:
    """The short book in the order of the dates."""
    return built(once, "paper-ordered", "--book", "short", "--order", "chronological")


def scifi(once: Once) -> Path:
    """A book of another universe."""
    return built(once, "paper-scifi", "--book", "short", "--universe", "scifi", "--events", 8, "--universe-size", 30)


def rows(folder: Path, config: str) -> list[dict[str, Any]]:
    """The rows of a config."""
    return [row for path in sorted((folder / config).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def archived_rounds():
    """The rounds of the book of the archive, by the checks of its candidates."""
    found = []
    with zipfile.ZipFile(OURS) as files:
        checks = {name: json.loads(files.read(name)) for name in files.namelist() if "/paragraphs_verif_" in name}
    for number in range(10):
        of_round = {name: of for name, of in checks.items() if f"_iter{number}." in name}
        exact, model = (
            {name.rpartition("/")[2]: of for name, of in of_round.items() if f"verif_{kind}/" in name}
            for kind in ("direct", "llm")
        )
        bad = [name for name, (passed, _) in exact.items() if not passed]
        doubted = [name for name in exact if name not in bad and not model.get(name, [True])[0]]
        failed = Counter(check for name in bad for check in exact[name][1])
        failed.update(f"llm_{fact}" for name in doubted for fact in model[name][1])
        found.append((len(exact), len(bad), len(doubted), failed))
    return found


# What the files hold, read plainly


def plain_book(folder, label, n_events, writer="template"):
    report = json.loads((folder / "writing.json").read_text("utf-8"))
    rounds = [] if writer == "template" else report["iterations"]
    return SimpleNamespace(
        about={"label": label, "writer": writer},
        label=label,
        n_events=n_events,
        chapters=rows(folder, "chapters"),
        asked=[(row["cue"], row["bin"], row["template"]) for row in rows(folder, "qa")],
        text=rows(folder, "book")[0]["text"],
        answerable=sum(bool(row["n_chapters"]) for row in rows(folder, "all_questions")),
        rounds=[(one["candidates"], one["failed_exact"], one["failed_llm"], one["failed_checks"]) for one in rounds],
    )


def plain_books(folders):
    """The books of the folders that the tests share, without the one that only orders another, and that of the archive."""
    short, by_model, _, from_scifi = folders
    return [
        plain_book(short, "short by template", 20),
        plain_book(by_model, "short by openai:tiny", 20, "openai:tiny"),
        plain_book(from_scifi, "scifi-short", 8),
        SimpleNamespace(about={"label": "short", "writer": "made"}, label="short", rounds=archived_rounds()),
    ]


def by_bins(numbers):
    return Counter(str(n) if n < 3 else "3-5" if n < 6 else "6+" for n in numbers)


def characteristics(of):
    days, asked = sorted(row["date"] for row in of.chapters), Counter(bin_ for _, bin_, _ in of.asked)
    columns = zip(("n_times", "n_spaces", "n_entities", "n_contents"), COLUMNS, strict=True)
    different = {name: len({row[column] for row in of.chapters}) for name, column in columns}
    sizes = {"n_events": of.n_events, "n_chapters": len(days), **length(of)}
    days = {"first_day": days[0], "last_day": days[-1]}
    selected = {"n_selected": len(of.asked), **{f"selected_{bin_}": asked[bin_] for bin_ in BINS}}
    yield of.about | sizes | different | days | {"n_answerable": of.answerable} | selected


def length(of):
    return {"length": len(of.text.split()), "length_unit": "words"}


def rounds(of):
    so_far = 0
    for number, (candidates, exact, by_model, checks) in enumerate(of.rounds):
        so_far += candidates - exact - by_model
        counts = {"candidates": candidates, "failed_exact": exact, "failed_model": by_model}
        accepted = {"accepted": candidates - exact - by_model, "accepted_so_far": so_far}
        checked = {f"check_{check}": n for check, n in checks.items()}
        yield of.about | {"round": number, "n_events": 20} | counts | accepted | checked


def composition(of):
    properties = {
        "paragraphs": [row["text"].count("\n\n") + 1 for row in of.chapters],
        "style": [row["style"] for row in of.chapters],
        "secondary entities": [len(row["secondary_entities"]) for row in of.chapters],
    }
    for what, values in properties.items():
        for value, n in Counter(map(str, values)).items():
            yield {"label": of.label, "property": what, "value": value, "chapters": n}


def repetitions(of):
    for column, element in zip(COLUMNS, ELEMENTS, strict=True):
        often = by_bins(Counter(row[column] for row in of.chapters).values())
        for bin_ in OFTEN:
            yield {"label": of.label, "feature": element, "times": bin_, "items": often[bin_], "expected_n": 10_000}


def spread(of):
    counts, templates = Counter(of.asked), {}
    for cue, _, template in of.asked:
        templates.setdefault(cue, set()).add(template)
    for cue, known in templates.items():
        for bin_ in BINS:
            n = [counts[cue, bin_, template] for template in known]
            ends = {"least_of_a_template": min(n), "most_of_a_template": max(n)}
            yield {"label": of.label, "cue": cue, "bin": bin_, "questions": sum(n), "templates": len(n)} | ends


def positions(of):
    """The middle of the first place at which a chapter tells a fact, as a share of the book, the chapter and the paragraph."""
    book, begin = of.text.lower(), 0
    for row in of.chapters:
        text = row["text"].lower()
        begin = book.index(f"chapter {row['chapter']}\n\n{text}", begin) + len(f"chapter {row['chapter']}\n\n")
        day = f"{date.fromisoformat(row['date']):%B %d, %Y}"
        facts = {"space": row["location"], "time": day, "entity": row["entity"], "detail": row["detail"]}
        for fact, told in facts.items():
            told = told.lower()
            at = text.index(told) + len(told) / 2
            paragraph = next(part for part in text.split("\n\n") if told in part)
            within = (paragraph.index(told) + len(told) / 2) / len(paragraph)
            for span, place in (("book", (begin + at) / len(book)), ("chapter", at / len(text)), ("paragraph", within)):
                about = {"label": of.label, "span": span, "fact": fact, "chapter": row["chapter"]}
                yield about | {"position": pytest.approx(place)}


def path(of):
    names = [row["entity"] for row in of.chapters]
    person = max(names, key=lambda name: (names.count(name), -names.index(name)))
    with (read_universe_files("default").folder / "locations.csv").open(encoding="utf-8", newline="") as file:
        at = {row["name"]: (float(row["latitude"]), float(row["longitude"])) for row in csv.DictReader(file)}
    told = sorted((row for row in of.chapters if row["entity"] == person), key=lambda row: row["date"])
    for number, row in enumerate(told, 1):
        south, west = at[row["location"]]
        told = {name: row[name] for name in ("chapter", "date", "content", "detail")}
        place = {"space": row["location"], "latitude": south, "longitude": west}
        yield {"entity": person, "stop": number} | told | place


RATINGS = {number: (*RATED, None)[number % 6] for number in range(1, 21)}
"""How realistic the chapters of the book by templates are."""


def realism(of):
    counts = Counter(RATINGS[row["chapter"]] for row in of.chapters)
    yield of.about | {rating: counts[rating] for rating in RATED} | {"unrated": counts[None]}


def uses(of):
    kind = {"universe": "scifi" if "scifi" in of.label else "default", "size": "short", "order": "narrative"}
    return [of.about | kind | {"n_chapters": len(of.chapters), **length(of)} | USES[of.label]]


def expectation(row):
    """Table 6 against the exact expectations, within five standard errors of 10,000 repetitions."""
    n, size = row["n_events"], row["universe_size"]
    ratio = 1.0 if row["distribution"] == "uniform" else 1 - min(0.5, 10 / size)
    weights = [ratio**i for i in range(size)]
    few, many = {"1": (0, 1), "2": (1, 2), "3-5": (2, 5), "6+": (5, n)}[row["times"]]
    shares = [weight / sum(weights) for weight in weights]
    exact = sum(binom.cdf(many, n, p) - binom.cdf(few, n, p) for p in shares)
    return {"mean": pytest.approx(exact, abs=5 * max(row["sd"], 0.01) / row["n"] ** 0.5)}


USES = {
    "short by template": {"use": "main", "used_in": "Tables 13 and 17, Figure 7"},
    "short by openai:tiny": {"use": "ablation: writer", "used_in": "Tables 20 and 21"},
    "scifi-short": {"use": "ablation: universe", "used_in": "Table 27"},
}
EXPECTED = {
    "Table 2": characteristics,
    "Table 26": characteristics,
    "Table 7": rounds,
    "Table 8": composition,
    "Table 9": repetitions,
    "Table 12": spread,
    "Table 28": uses,
    "Figure 5": positions,
    "Figure 6, short by template": path,
    "Table 6": expectation,
    "E.7": realism,
}


def expected(exhibit, name, told):
    """Pairs of a row of a table about books, without those that are reported, and what the files say."""
    if name == "Table 6":
        yield from ((row, expectation(row)) for row in exhibit.records if row["source"] == "own")
        return
    first = (
        "Figure 6, short by template",
        "E.7",
    )  # about one book alone, as Table 26 is about that of another universe
    labels = {"Table 26": "scifi-short"} | dict.fromkeys(first, "short by template")
    told = [of for of in told if labels.get(name, of.label) == of.label and (name == "Table 7" or of.label != "short")]
    told = [of for of in told if (name, of.label) != ("Table 2", "scifi-short")]
    known = [one for of in told for one in EXPECTED[name](of)]
    sources = ("own", "released") if name == "Table 7" else ("own",)
    shown = [record for record in exhibit.records if record["source"] in sources]
    if name == "Table 8":  # what one book does not have is there as 0
        shown = [record for record in shown if record["chapters"]]
    if name == "Table 28":  # where alone the book is that has the chapters of another one
        (ordered,) = [record for record in shown if record["label"] == "short-ordered"]
        yield ordered, {"use": "ablation: order", "used_in": "Tables 22 and 23"}
        shown.remove(ordered)
    order = ("label", "cue", "bin", "property", "value", "span", "fact")
    shown, known = (sorted(of, key=lambda one: [str(one.get(key)) for key in order]) for of in (shown, known))
    yield from zip(shown, known, strict=True)
