"""Books that tests read, and every number about them, counted again from their files by plain loops."""

import json
import math
import zipfile
from collections import Counter
from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

from epbench.tulving.dataset.build import Recipe, draw_outline
from epbench.tulving.events.universe_files import read_universe_files
from epbench.tulving.judging.realism import RATINGS as RATED
from tests.paper.plain import group
from tests.published_data import OURS
from tests.scripts.in_process import ran
from tests.tulving.scripted_writer import ScriptedWriter

BINS = {"0": (0, 0), "1": (1, 1), "2": (2, 2), "3-5": (3, 5), "6+": (6, math.inf)}
ELEMENTS = {"time": "date", "space": "location", "entity": "entity", "content": "content"}  # by their columns
OUTLINE = draw_outline(Recipe("short"))
_SEVERAL = [number for number, layout in enumerate(OUTLINE.layouts) if layout.n_paragraphs >= 3]
MISTAKES = {
    _SEVERAL[0]: ["date in another paragraph", "place in two paragraphs"],
    _SEVERAL[1]: ["name forgotten", "a second date", "numbers from 2"],
    _SEVERAL[2]: ["a second person", "a second event"],
    _SEVERAL[3]: ["deed forgotten"] * 9 + ["a second date"],
}
"""By number of the event the mistakes of its candidates; the last event never gets a chapter."""
RATINGS = {chapter: (*RATED, None)[chapter % 6] for chapter in range(1, 21)}


def built(once, name, *args):
    """The folder of a short book that the builder makes once per run of the tests."""
    out = once(f"paper-{name}", lambda out: ran("builders/tulving.py", "--book", "short", *args, "--out", out))
    (folder,) = [path for path in out.iterdir() if (path / "README.md").is_file()]
    return folder


def folders_of(once, short_book):
    """Four datasets: by templates, by a model with mistakes, reordered by date, and from another universe."""
    with ScriptedWriter(OUTLINE.universe, OUTLINE.events, MISTAKES).endpoint() as endpoint:
        model = ("--writer", "openai:tiny", "--base-url", endpoint.url, "--window", 32768)
        by_model = built(once, "written", *model)
    scifi = ("--universe", "scifi", "--events", 8, "--universe-size", 30)
    return [short_book, by_model, built(once, "ordered", "--order", "chronological"), built(once, "scifi", *scifi)]


def rows(folder, config):
    return [row for path in sorted((folder / config).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def archived_rounds():
    """The rounds of the book of the archive, by the checks of its candidates."""
    with zipfile.ZipFile(OURS) as files:
        checks = {name: json.loads(files.read(name)) for name in files.namelist() if "/paragraphs_verif_" in name}
    for number in range(10):
        of_round = {tuple(name.split("/")[-2:]): of for name, of in checks.items() if f"_iter{number}." in name}
        exact, model = ({name: of for (kind, name), of in of_round.items() if end in kind} for end in ("direct", "llm"))
        bad = [name for name, (passed, _) in exact.items() if not passed]
        doubted = [name for name in exact if name not in bad and not model.get(name, [True])[0]]
        failed = Counter(check for name in bad for check in exact[name][1])
        failed.update(f"llm_{fact}" for name in doubted for fact in model[name][1])
        yield len(exact), len(bad), len(doubted), failed


BOOKS = {
    "short by template": ("template", 20, "default", "narrative", "main", "Tables 13 and 17, Figure 7"),
    "short by openai:tiny": ("openai:tiny", 20, "default", "narrative", "ablation: writer", "Tables 20 and 21"),
    "short-ordered": ("template", 20, "default", "chronological", "ablation: order", "Tables 22 and 23"),
    "scifi-short": ("template", 8, "scifi", "narrative", "ablation: universe", "Table 27"),
}
"""By label the writer, the number of events, the universe, the order, and the use of the books of the folders."""


def plain_book(folder, label):
    found, columns = SimpleNamespace(rounds=[]), ("writer", "n_events", "universe", "order", "use", "used_in")
    found.about = {"label": label} | dict(zip(columns, BOOKS[label], strict=True))
    if (folder / "writing.json").exists():
        names = ("candidates", "failed_exact", "failed_llm", "failed_checks")
        report = json.loads((folder / "writing.json").read_text("utf-8"))
        found.rounds = [[one[name] for name in names] for one in report["iterations"]]
    found.chapters, found.text = rows(folder, "chapters"), rows(folder, "book")[0]["text"]
    found.asked = [(row["cue"], row["bin"], row["template"]) for row in rows(folder, "qa")]
    found.answerable = sum(bool(row["n_chapters"]) for row in rows(folder, "all_questions"))
    found.sizes = {"n_chapters": len(found.chapters), "length": len(found.text.split()), "length_unit": "words"}
    return found


def plain_books(folders):
    """By label the books of the folders that the tests share, and that of the archive."""
    found = {label: plain_book(folder, label) for label, folder in zip(BOOKS, folders, strict=True)}
    archived = SimpleNamespace(about={"label": "short", "writer": "made", "n_events": 20}, rounds=archived_rounds())
    return found | {"short": archived}


def characteristics(of):
    days, asked = sorted(row["date"] for row in of.chapters), [bin_ for _, bin_, _ in of.asked]
    different = [len({row[column] for row in of.chapters}) for column in ELEMENTS.values()]
    counts = dict(zip(("n_times", "n_spaces", "n_entities", "n_contents"), different, strict=True))
    selected = {"n_selected": len(asked), **{f"selected_{bin_}": asked.count(bin_) for bin_ in BINS}}
    yield of.sizes | counts | selected | {"n_answerable": of.answerable, "first_day": days[0], "last_day": days[-1]}


def rounds(of):
    so_far = 0
    for number, (candidates, exact, by_model, checks) in enumerate(of.rounds):
        so_far += candidates - exact - by_model
        counts = {"candidates": candidates, "failed_exact": exact, "failed_model": by_model}
        counts |= {"accepted": candidates - exact - by_model, "accepted_so_far": so_far}
        yield {"round": number} | counts | {f"check_{check}": n for check, n in checks.items()}


def composition(of):
    values = [("paragraphs", row["text"].count("\n\n") + 1) for row in of.chapters]
    values += [("style", row["style"]) for row in of.chapters]
    values += [("secondary entities", len(row["secondary_entities"])) for row in of.chapters]
    for (what, value), n in Counter(values).items():
        yield {"property": what, "value": str(value), "chapters": n}


def repetitions(of):
    for element, column in ELEMENTS.items():
        times = Counter(row[column] for row in of.chapters).values()
        for bin_, (least, most) in list(BINS.items())[1:]:
            items = sum(least <= n <= most for n in times)
            yield {"feature": element, "times": bin_, "items": items, "expected_n": 10_000}


def spread(of):
    for cue, asked in group(of.asked, lambda one: one[0]).items():
        templates = {template for _, _, template in asked}
        for bin_ in BINS:
            n = [asked.count((cue, bin_, template)) for template in templates]
            ends = {"least_of_a_template": min(n), "most_of_a_template": max(n)}
            yield {"cue": cue, "bin": bin_, "questions": sum(n), "templates": len(n)} | ends


def positions(of):
    """The middle of the first place at which a chapter tells a fact, as a share of the book, the chapter and the paragraph."""
    book, begin = of.text.lower(), 0
    for row in of.chapters:
        text, heading = row["text"].lower(), f"chapter {row['chapter']}\n\n"
        begin = book.index(f"{heading}{text}", begin) + len(heading)
        day = f"{date.fromisoformat(row['date']):%B %d, %Y}"
        facts = {"space": row["location"], "time": day, "entity": row["entity"], "detail": row["detail"]}
        for fact, told in facts.items():
            told = told.lower()
            at, paragraph = text.index(told), next(part for part in text.split("\n\n") if told in part)
            places = {"book": (begin + at, book), "chapter": (at, text)}
            places |= {"paragraph": (paragraph.index(told), paragraph)}
            for span, (start, whole) in places.items():
                place = pytest.approx((start + len(told) / 2) / len(whole))
                yield {"span": span, "fact": fact, "chapter": row["chapter"], "position": place}


def path(of):
    ((person, _),) = Counter(row["entity"] for row in of.chapters).most_common(1)
    places = pd.read_csv(read_universe_files("default").folder / "locations.csv", index_col="name")
    told = sorted((row for row in of.chapters if row["entity"] == person), key=lambda row: row["date"])
    for number, row in enumerate(told, 1):
        words = {name: row[name] for name in ("entity", "chapter", "date", "content", "detail")}
        at = places.loc[row["location"], ["latitude", "longitude"]].to_dict()
        yield words | at | {"stop": number, "space": row["location"]}


def realism(of):
    ratings = [RATINGS[row["chapter"]] for row in of.chapters]
    yield {rating: ratings.count(rating) for rating in RATED} | {"unrated": ratings.count(None)}


def expectation(row):
    """Table 6 against the exact expectations, within five standard errors of 10,000 repetitions."""
    n, size = row["n_events"], row["universe_size"]
    ratio = 1.0 if row["distribution"] == "uniform" else 1 - min(0.5, 10 / size)
    least, most = BINS[row["times"]]
    shares = ratio ** np.arange(size) / sum(ratio ** np.arange(size))
    exact = sum(binom.cdf(most, n, shares) - binom.cdf(least - 1, n, shares))
    return {"mean": pytest.approx(exact, abs=5 * max(row["sd"], 0.01) / row["n"] ** 0.5)}


MAIN, BY_MODEL, _, SCIFI = BOOKS
EXPECTED = {
    "Table 2": (characteristics, (MAIN, BY_MODEL)),
    "Table 26": (characteristics, (SCIFI,)),
    "Table 7": (rounds, (BY_MODEL, "short")),
    "Table 8": (composition, (MAIN, BY_MODEL, SCIFI)),
    "Table 9": (repetitions, (MAIN, BY_MODEL, SCIFI)),
    "Table 12": (spread, (MAIN, BY_MODEL, SCIFI)),
    "Table 28": (lambda of: [of.sizes | {"size": "short"}], tuple(BOOKS)),
    "Figure 5": (positions, (MAIN, BY_MODEL, SCIFI)),
    "Figure 6, short by template": (path, (MAIN,)),
    "E.7": (realism, (MAIN,)),
}
"""By exhibit, what each book makes of it, and the books that it has, beside those of others."""


def expected(exhibit, name, told):
    """Pairs of a row of a table about books, without those that are reported, and what the files say."""
    make, labels = EXPECTED[name]
    known = [told[label].about | one for label in labels for one in make(told[label])]
    sources = ("own", "released") if name == "Table 7" else ("own",)
    # What one book does not have is there as 0 in Table 8
    shown = [record for record in exhibit.records if record["source"] in sources and record.get("chapters") != 0]
    order = ("label", "cue", "bin", "property", "value", "span", "fact")
    shown, known = (sorted(of, key=lambda one: [str(one.get(key)) for key in order]) for of in (shown, known))
    yield from zip(shown, known, strict=True)
