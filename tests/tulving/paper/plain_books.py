"""Books that tests read, and every number about them, counted again from the files alone by plain loops."""

import csv
import io
import json
import re
import zipfile
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

from epbench.tulving.dataset.build import Recipe, draw_outline
from epbench.tulving.events.universe_files import read_universe_files
from tests.conftest import Once
from tests.published_data import OURS
from tests.scripts import in_process
from tests.tulving.scripted_writer import ScriptedWriter

BINS = ("0", "1", "2", "3-5", "6+")
OFTEN = BINS[1:]
ELEMENTS = ("time", "space", "entity", "content")
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


def published(archive: Path) -> dict[str, Any]:
    """The files of the one book of a published archive, as they are stored."""
    with zipfile.ZipFile(archive) as files:
        names = files.namelist()

        def one(end: str) -> bytes:
            (name,) = [name for name in names if name.endswith(end)]
            return files.read(name)

        def checks(folder: str) -> dict[str, Any]:
            found = [name for name in names if f"/{folder}/" in name and name.endswith(".json")]
            return {name.rpartition("/")[2]: json.loads(files.read(name)) for name in found}

        return {
            "chapters": pq.read_table(io.BytesIO(one("df_book_groundtruth.parquet"))).to_pylist(),
            "questions": pq.read_table(io.BytesIO(one("df_qa.parquet"))).to_pylist(),
            "events": json.loads(one("/events.json")),
            "layouts": json.loads(one("/meta_events.json")),
            "text": json.loads(one("/book.json")),
            "exact": checks("paragraphs_verif_direct"),
            "model": checks("paragraphs_verif_llm"),
        }


# What the files hold, read plainly


@dataclass
class Told:
    """A book as its files tell it: events (date, space, entity, content), (paragraphs, style, side characters), …"""

    label: str
    writer: str
    n_events: int
    events: list
    chapters: list
    asked: list
    n_words: int
    answerable: int
    rounds: list
    positions: dict
    detailed: list

    @property
    def about(self):
        return {"label": self.label, "writer": self.writer}


def plain_own(folder, label, n_events, writer="template"):
    told, report = rows(folder, "chapters"), json.loads((folder / "writing.json").read_text("utf-8"))
    rounds = [] if writer == "template" else report["iterations"]
    return Told(
        label,
        writer,
        n_events,
        [(row["date"], row["location"], row["entity"], row["content"]) for row in told],
        [(row["text"].count("\n\n") + 1, row["style"], len(row["secondary_entities"])) for row in told],
        [(row["cue"], row["bin"], row["template"]) for row in rows(folder, "qa")],
        len(rows(folder, "book")[0]["text"].split()),
        sum(bool(row["n_chapters"]) for row in rows(folder, "all_questions")),
        [(one["candidates"], one["failed_exact"], one["failed_llm"], one["failed_checks"]) for one in rounds],
        plain_positions(folder),
        told,
    )


def plain_published():
    stored = published(OURS)
    told = stored["chapters"]
    plans = [stored["layouts"][row["raw_generated_paragraph_idx"]] for row in told]
    asked = []
    for row in stored["questions"]:
        parts = re.findall(r"\*|\{[^}]*\}", row["cue_completed"])
        cue = "".join(letter for letter, part in zip("tsec", parts, strict=True) if part != "*")
        asked.append((cue, *by_bins([row["n_chapters_correct_answer"]]), row["q_idx"]))
    rounds = []
    for number in range(10):
        names = [name for name in stored["exact"] if name.endswith(f"_iter{number}.json")]
        bad = [name for name in names if not stored["exact"][name][0]]
        doubted = [name for name in names if name not in bad and not stored["model"].get(name, [True])[0]]
        failed = Counter(check for name in bad for check in stored["exact"][name][1])
        failed.update(f"llm_{fact}" for name in doubted for fact in stored["model"][name][1])
        rounds.append((len(names), len(bad), len(doubted), failed))
    days = [datetime.strptime(row["date"], "%B %d, %Y").date().isoformat() for row in told]
    return Told(
        "short",
        "made",
        20,
        [(day, row["location"], row["entity"], row["content"]) for day, row in zip(days, told, strict=True)],
        [(p["nb_paragraphs"], p["style"], len(row["post_entities"])) for p, row in zip(plans, told, strict=True)],
        asked,
        len(stored["text"].split()),
        564,
        rounds,
        {},
        [],
    )


def plain_positions(folder):
    """By span and fact, the positions in the order of the chapters."""
    book = rows(folder, "book")[0]["text"].lower()
    found, begin = {}, 0
    for row in rows(folder, "chapters"):
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
                found.setdefault((span, fact), []).append(place)
    return found


def by_bins(numbers):
    return Counter(str(n) if n < 3 else "3-5" if n < 6 else "6+" for n in numbers)


def plain_books(folders):
    """The books of the folders that the tests share, without the one that only orders another, and that of the archive."""
    short, by_model, _, from_scifi = folders
    return [
        plain_own(short, "short by template", 20),
        plain_own(by_model, "short by openai:tiny", 20, "openai:tiny"),
        plain_own(from_scifi, "scifi-short", 8),
        plain_published(),
    ]


def characteristics(of):
    days, asked = sorted(event[0] for event in of.events), Counter(bin_ for _, bin_, _ in of.asked)
    different = {
        f"n_{n}": len({e[at] for e in of.events}) for at, n in enumerate(("times", "spaces", "entities", "contents"))
    }
    sizes = {"n_events": of.n_events, "n_chapters": len(of.events), "length": of.n_words, "length_unit": "words"}
    days = {"first_day": days[0], "last_day": days[-1]}
    selected = {"n_selected": len(of.asked), **{f"selected_{bin_}": asked[bin_] for bin_ in BINS}}
    yield of.about | sizes | different | days | {"n_answerable": of.answerable} | selected


def rounds(of):
    so_far = 0
    for number, (candidates, exact, by_model, checks) in enumerate(of.rounds):
        so_far += candidates - exact - by_model
        counts = {"candidates": candidates, "failed_exact": exact, "failed_model": by_model}
        accepted = {"accepted": candidates - exact - by_model, "accepted_so_far": so_far}
        checked = {f"check_{check}": n for check, n in checks.items()}
        yield of.about | {"round": number, "n_events": 20} | counts | accepted | checked


def composition(of):
    for at, what in enumerate(("paragraphs", "style", "secondary entities")):
        for value, n in Counter(str(chapter[at]) for chapter in of.chapters).items():
            yield {"label": of.label, "property": what, "value": value, "chapters": n}


def repetitions(of):
    for at, element in enumerate(ELEMENTS):
        often = by_bins(Counter(event[at] for event in of.events).values())
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
    for (span, fact), places in of.positions.items():
        for number, place in enumerate(places, 1):
            yield {"label": of.label, "span": span, "fact": fact, "chapter": number, "position": pytest.approx(place)}


def path(of):
    names = [row["entity"] for row in of.detailed]
    if of.label != "short by template":
        return
    person = max(names, key=lambda name: (names.count(name), -names.index(name)))
    with (read_universe_files("default").folder / "locations.csv").open(encoding="utf-8", newline="") as file:
        at = {row["name"]: (float(row["latitude"]), float(row["longitude"])) for row in csv.DictReader(file)}
    told = sorted((row for row in of.detailed if row["entity"] == person), key=lambda row: row["date"])
    for number, row in enumerate(told, 1):
        south, west = at[row["location"]]
        told = {name: row[name] for name in ("chapter", "date", "content", "detail")}
        place = {"space": row["location"], "latitude": south, "longitude": west}
        yield {"entity": person, "stop": number} | told | place


def uses(of):
    kind = {"universe": "scifi" if "scifi" in of.label else "default", "size": "short", "order": "narrative"}
    lengths = {"n_chapters": len(of.events), "length": of.n_words, "length_unit": "words"}
    return [of.about | kind | lengths | USES[of.label]]


MAIN = {"use": "main", "used_in": "Tables 13 and 17, Figure 7"}
USES = {
    "short by template": MAIN,
    "short by openai:tiny": {"use": "ablation: writer", "used_in": "Tables 20 and 21"},
    "scifi-short": {"use": "ablation: universe", "used_in": "Table 27"},
    "short": MAIN,
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
}


def check_books(exhibit, name, told):
    """The rows of a table about books, without those that are reported, are those of the files."""
    left_out = {"Table 2": "scifi-short", "Table 26": "short"}.get(name, "all")
    told = [of for of in told if of.label != left_out and not of.label.startswith(f"{left_out} by")]
    expected = [one for of in told for one in EXPECTED[name](of)]
    shown = [r for r in exhibit.records if r["source"] != "reported" and (name != "Figure 5" or r["source"] == "own")]
    if name == "Table 8":  # what one book does not have is there as 0
        shown = [record for record in shown if record["chapters"]]
    if name == "Table 28":  # where alone the book is that has the chapters of another one
        (ordered,) = [record for record in shown if record["label"] == "short-ordered"]
        assert (ordered["use"], ordered["used_in"]) == ("ablation: order", "Tables 22 and 23")
        shown.remove(ordered)
    order = ("label", "cue", "bin", "property", "value", "span", "fact")
    shown, expected = (sorted(of, key=lambda one: [str(one.get(key)) for key in order]) for of in (shown, expected))
    assert [{column: record[column] for column in one} for record, one in zip(shown, expected, strict=True)] == expected


def check_expected(records):
    """Table 6 against the exact expectations, within five standard errors of 10,000 repetitions."""
    for row in records:
        if row["source"] == "own":
            n, size = row["n_events"], row["universe_size"]
            ratio = 1.0 if row["distribution"] == "uniform" else 1 - min(0.5, 10 / size)
            weights = [ratio**i for i in range(size)]
            few, many = {"1": (0, 1), "2": (1, 2), "3-5": (2, 5), "6+": (5, n)}[row["times"]]
            shares = [weight / sum(weights) for weight in weights]
            exact = sum(binom.cdf(many, n, p) - binom.cdf(few, n, p) for p in shares)
            assert row["mean"] == pytest.approx(exact, abs=5 * max(row["sd"], 0.01) / row["n"] ** 0.5)
