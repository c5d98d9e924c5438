"""Every number of every table and figure about answers, against the journals by plain loops."""

import math
import re
from itertools import combinations

import pytest
from scipy.stats import friedmanchisquare, mannwhitneyu, rankdata, wilcoxon
from statsmodels.stats.power import tt_ind_solve_power

from epbench.progress import no_progress
from epbench.reports.exhibit import Missing, slug, write_exhibits
from epbench.tulving.paper import comparisons, recall
from epbench.tulving.paper.inputs import Inputs, lines_of, read_runs
from epbench.tulving.paper.make import exhibits
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, score_published_runs
from tests.published_data import BOOKS
from tests.tulving.paper.conftest import RATINGS
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK, check, plain

KINDS = ("bin", "cue", "trace", "elements", "realism")
SCORES = ("latest", "all_matched", "kendall_tau", "chronological_awareness")


def line_of(row, lines):
    """The line of a run that a row is about; its label may say something else."""
    names = ("source", "memory", "model", "fingerprint")
    (found,) = [
        line for line in lines if not line.reported and all(line.columns()[name] == row[name] for name in names)
    ]
    return found


def kind_of(question, name):
    """The value of a kind of questions."""
    if name == "elements":
        return str(len(question["cue"]))
    if name != "realism":
        return question[name]
    kinds = {
        RATINGS[chapter] in ("Realistic", "Moderately realistic") for chapter in question["chapters"] if chapter < 20
    }
    if 20 in question["chapters"] and len(kinds) < 2:
        return "not rated"
    return "empty" if not kinds else "mixed" if len(kinds) > 1 else "realistic" if kinds == {True} else "non-realistic"


class Plain:
    """The questions of the lines, as the journals have them."""

    def __init__(self, given, lines):
        self.given, self.lines = given, lines

    def asked(self, row, **where):
        """Pairs of a row of the dataset, and its measures or None."""
        found = self.given.plain(line_of(row, self.lines))
        return [(of, q) for of, q in found if all(kind_of(of, name) == value for name, value in where.items())]

    def questions(self, row, **where):
        return [question for _, question in self.asked(row, **where)]

    # each of these checks a row of a frame, and returns the questions that it is about

    def f1(self, row):
        where = {name: row[name] for name in KINDS if name in row}
        check(row, plain(self.questions(row, get="all", **where)))
        return self.asked(row, get="all", **where)

    def order(self, row):
        latest = [q for of, q in self.asked(row, get="latest") if of["n_chapters"] > 1]
        ordered = [q for of, q in self.asked(row, get="chronological") if len(set(of["answer"])) > 1]
        taus = [q["tau"] for q in ordered if q and q["tau"] is not None]
        found = {"latest": plain(latest)}
        matched = [q and {"found": float(q["tau"] is not None)} for q in ordered]
        found["all_matched"] = plain(matched, "found") | {"sd": None}
        failed = ordered.count(None)
        tau = {"mean": None if failed or not taus else sum(taus) / len(taus), "n": len(taus), "n_failed": failed}
        found["kendall_tau"] = tau if failed else plain([{"tau": tau} for tau in taus], "tau")
        whole = {"n": len(latest + ordered) - latest.count(None) - failed, "n_failed": latest.count(None) + failed}
        if not whole["n_failed"]:
            share = max(0, found["all_matched"]["mean"] * (found["kendall_tau"]["mean"] or 0))
            whole |= {"mean": (found["latest"]["mean"] + share) / 2}
        else:
            assert row["score"] in SCORES[1:3] or row["lowest"] < row["highest"]
        check(row, (found | {"chronological_awareness": whole})[row["score"]])

    def tests(self, row):
        """One-sided tests, whose samples the names of the row tell."""
        if "reader" in row:
            by_name = {f"{line.who} on {line.text}": line for line in self.lines}
            samples = [self.questions(by_name[row[side]].columns(), get="all") for side in ("first", "second")]
        elif "run" in row:
            line = next(line for line in self.lines if line.who == row["run"])
            samples = [self.questions(line.columns(), realism=row[side]) for side in ("first", "second")]
        else:
            of_book = {line.who: line for line in self.lines if line.text == row["book"]}
            samples = [self.questions(of_book[row[side]].columns()) for side in ("first", "second")]
            assert "gpt" in row["first"] and "claude" in row["second"]
        first, second = ([q["f1"] for q in sample if q] for sample in samples)
        expected = mannwhitneyu(first, second, alternative="greater", method="asymptotic")
        effect = sum((one > other) + (one == other) / 2 for one in first for other in second) / len(first) / len(second)
        check(row, {
            "first_n": len(first), "second_n": len(second), "first_mean": sum(first) / len(first),
            "second_mean": sum(second) / len(second), "n_failed": sum(sample.count(None) for sample in samples),
            "u": expected.statistic, "p": expected.pvalue, "effect": effect,
        })  # fmt: skip

    def named(self, row):
        """What answers to questions about nothing name."""
        where = {name: row[name] for name in ("trace", "cue") if name in row}
        asked = self.asked(row, get="all", bin="0", **where)
        found = [q for of, q in asked if row["origin"] in ("both", of["origin"])]
        named = [q and {"share": float(len(set(q["items"])) > 0), "items": len(set(q["items"]))} for q in found]
        check(row, plain(named, "share"), "share_")
        check(row, {"mean": plain(named, "items")["mean"]}, "items_")
        check(row, plain(found), "f1_")
        if row["share_mean"] is not None:
            n, k, z = len(found), sum(q["share"] for q in named), 1.959964
            centre, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
            assert (row["share_low"], row["share_high"]) == pytest.approx((centre - half, centre + half), abs=1e-6)

    def harsh(self, row):
        of_bins = {}
        for of, question in self.asked(row, get="all"):
            if row["bin"] in ("all bins", of["bin"]):
                of_bins.setdefault(of["bin"], []).append(
                    question and {**question, "loss": question["f1"] - question["harsh_f1"]}
                )
        counts = {
            "n": sum(len(q) - q.count(None) for q in of_bins.values()),
            "n_failed": sum(q.count(None) for q in of_bins.values()),
        }
        for column in ("f1", "harsh_f1", "loss"):
            found = [plain(questions, column) for questions in of_bins.values()]
            if counts["n_failed"]:
                ends = {
                    end: sum(one["mean"] if one[end] is None else one[end] for one in found) / len(found)
                    for end in ("lowest", "highest")
                }
                check(row, {"mean": None, "sd": None, **counts} | (ends if column != "loss" else {}), f"{column}_")
            else:
                sd = found[0]["sd"] if row["bin"] != "all bins" else None
                check(row, {"mean": sum(one["mean"] for one in found) / len(found), "sd": sd, **counts}, f"{column}_")
        if not counts["n_failed"]:
            score = "simple_recall_score" if row["bin"] == "all bins" else f"f1_by_bin.{row['bin']}"
            interval = line_of(row, self.lines).scores["intervals"][score]
            assert (row["f1_low"], row["f1_high"]) == pytest.approx(interval)

    def grouped(self, row):
        found = self.questions(row, trace=row["trace"], get=row["get"])
        for column in ("f1", "harsh_f1"):
            check(row, plain(found, column), f"{column}_")
        if len(found) > 8 and row["f1_sd"]:
            effect = tt_ind_solve_power(nobs1=len(found), alpha=0.05, power=0.8)
            assert row["smallest"] == pytest.approx(effect * row["f1_sd"], rel=0.02)
        return [(q, q) for q in found]

    def matched(self, row):
        """By line, F1 of the questions that all runs on the text of a row have answered."""
        (text,) = {line.text for line in self.lines if line.fingerprint == row["fingerprint"]}
        runs = {line.label: self.questions(line.columns()) for line in self.lines if line.text == text}
        complete = [i for i, questions in enumerate(zip(*runs.values(), strict=True)) if None not in questions]
        return {label: [questions[i]["f1"] for i in complete] for label, questions in runs.items()}

    def ranks(self, row):
        f1 = self.matched(row)
        ranks = rankdata([[-round(value, 9) for value in values] for values in f1.values()], axis=0).mean(axis=1)
        values = f1[row["label"]]
        check(row, {"rank": ranks[list(f1).index(row["label"])], "mean": sum(values) / len(values), "n": len(values)})

    def pairs(self, row):
        one, other = (self.matched(row)[row[name]] for name in ("label", "second"))
        differences = [round(a - b, 9) for a, b in zip(one, other, strict=True)]
        expected = wilcoxon(differences, zero_method="pratt", method="asymptotic").pvalue if any(differences) else 1.0
        check(row, {"p": expected})
        assert (row["different"] == "yes") <= (row["p_holm"] < 0.05)

    def differences(self, row):
        after, before = (self.matched(row)[row[name]] for name in ("label", "before"))
        mean, mean_before = sum(after) / len(after), sum(before) / len(before)
        assert (
            mean <= mean_before + 1e-12
            and row["difference_low"] - 1e-9 <= mean - mean_before <= row["difference_high"] + 1e-9
        )
        check(row, {"mean": mean, "before_mean": mean_before, "difference_mean": mean - mean_before, "n": len(after)})


CHECKS = {
    "Table 3": Plain.f1, "Table 4": Plain.order, "Table 13": Plain.f1, "Table 14": Plain.f1, "Table 15": Plain.f1,
    "Table 16": Plain.f1, "Table 17": Plain.f1, "Table 18": Plain.f1, "Table 19": Plain.f1, "Table 20": Plain.f1,
    "Table 21": Plain.tests, "Table 22": Plain.f1, "Table 23": Plain.tests, "Table 24": Plain.f1, "Table 25": Plain.tests,
    "Table 27": Plain.f1, "Figure 3": Plain.ranks, "Figure 3, tests": Plain.pairs, "Figure 4": Plain.f1,
    "Figure 7": Plain.ranks, "Figure 7, tests": Plain.pairs, "Figure 8": Plain.differences, "E.8": Plain.named,
    "Harsh F1": Plain.harsh, "F1 by trace": Plain.grouped,
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_every_number_is_that_of_the_journals(name, made, world, given):
    found = [
        one
        for key, one in made.items()
        if key == name or (key.startswith(f"{name},") and (", tests" in key) == (", tests" in name))
    ]
    assert found and not any(isinstance(one, Missing) for one in found)
    plain_ = Plain(given, lines_of(world))
    for exhibit in found:
        rows, of_line = exhibit.records, {}
        for row in rows:
            if row.get("source") != "reported" and (asked := CHECKS[name](plain_, row)) is not None:
                of_line.setdefault(line_of(row, plain_.lines).label, []).extend(id(question) for question, _ in asked)
        for label, seen in of_line.items():  # no question stands in two rows of a run
            assert len(set(seen)) == len(seen) or name == "F1 by trace", (exhibit.name, label)
        if "p_holm" in rows[0]:
            ordered = sorted(rows, key=lambda row: row["p"])
            least = 0.0
            for place, row in enumerate(ordered):
                least = max(least, min(1.0, row["p"] * (len(rows) - place)))
                assert row["p_holm"] == pytest.approx(least)


def test_no_question_is_left_out(made, world, given):
    plain_ = Plain(given, lines_of(world))
    for name in (
        "Table 13, short",
        "Table 3",
        "Table 15, whole",
        "Table 17, whole",
        "Table 18, whole",
        "F1 by trace, get",
    ):
        rows = [row for row in made[name].records if row["source"] == "own"]
        for label in {row["label"] for row in rows}:
            of = [row for row in rows if row["label"] == label]
            asked = plain_.asked(of[0], **({} if name.startswith("F1") else {"get": "all"}))
            assert sum(row["n"] + row["n_failed"] for row in of) == len(asked), (name, label)


def test_everything_is_made_in_the_order_of_the_paper_and_says_who_judged(made):
    order = [*(f"Table {n}" for n in range(2, 29)), *(f"Figure {n}" for n in range(3, 9)), "E.8"]
    names = [name.partition(",")[0] for name in made if name.partition(",")[0] in order]
    numbers = [int(name[6:]) for name in dict.fromkeys(names) if name.startswith("Table") and name != "Table 28"]
    assert numbers == sorted(numbers) and set(made) >= {"Harsh F1", "E.8, cues", "Figure 3", "Table 25"}
    for one in made.values():
        if not isinstance(one, Missing):
            assert one.records and {len(row) for row in one.table.rows} == {len(one.table.head)}, one.name
            values = [value for row in one.records for value in row.values()]
            assert not any(isinstance(value, float) and value != value for value in values), one.name
            is_about_answers = {"judge", "alternative"} & set(one.records[0])
            assert any("Judge" in note for note in one.table.notes) or not is_about_answers, one.name
            assert not re.search(r"\bnan\b", one.table.markdown()), one.name


@pytest.mark.slow
def test_everything_can_be_written(made, tmp_path):
    first_of_each = {
        name.partition(",")[0]: one for name, one in reversed(made.items()) if not isinstance(one, Missing)
    }
    write_exhibits(tmp_path, "Tulving books", [*first_of_each.values(), made["Figure 7, tests, short (ffffffff)"]])
    assert len(list(tmp_path.glob("*.svg"))) == len(first_of_each) + 1
    written = (tmp_path / f"{slug(first_of_each['Figure 4'].name)}.svg").read_text("utf-8")
    assert "2 matching events" in written and "whole" in written


def test_friedman_is_named_with_its_numbers(made, world, given):
    rows = made["Figure 7, short (ffffffff)"].records
    f1 = Plain(given, lines_of(world)).matched(rows[0])
    statistic, p = friedmanchisquare(*f1.values())
    notes = made["Figure 7, short (ffffffff)"].table.notes
    assert f"χ² = {statistic:.1f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}" in notes[0]
    assert any("questions that not all runs have answered are left out" in note for note in notes)
    pairs = made["Figure 7, tests, short (ffffffff)"].records
    same = {frozenset((pair["label"], pair["second"])) for pair in pairs if pair["different"] == "no"}
    for one, other in combinations(rows, 2):
        assert (frozenset((one["label"], other["label"])) in same) == (other["label"] in str(one["not_different_from"]))


def test_who_stands_in_the_parts_of_table_14(lines):
    memories, chunks = recall.by_chunks(lines)
    assert (memories.name, chunks.name) == ("Table 14, memories", "Table 14, chunks")
    three, gpt = ["in-context", "rag-paragraph", "rag-chapter"], "gpt-4o-2024-08-06 (released)"
    assert [(row[1], row[3], row[0]) for row in memories.table.rows] == [
        *(("made", "short (ffffffff)", memory) for memory in three),
        *((gpt, CLAUDE_BOOK, memory) for memory in three[:2]),
        *((gpt, GPT_BOOK, memory) for memory in three),
    ]
    assert [row[0] for row in chunks.table.rows] == ["rag-paragraph"] * 3 + ["rag-chapter"] * 2


def test_the_best_order_comes_first_and_ranges_last(made):
    values = [row[-1] for row in made["Table 4, short"].table.rows if "reported" not in row[1]]
    numbers = [float(value.split(" ")[0]) for value in values if "–" not in value]
    assert numbers == sorted(numbers, reverse=True) and "–" in values[-1] and len(numbers) == len(values) - 1


def test_without_runs_everything_is_missing_and_says_what_it_needs():
    missing = {one.name for one in exhibits(Inputs([]), []) if isinstance(one, Missing) and one.needs}
    assert {
        "Figure 3",
        "Figure 4",
        "Figure 7",
        "Figure 8",
        *(f"Table {n}" for n in (3, 4, 13, *range(15, 26), 27)),
    } <= missing


def test_what_cannot_be_made(given):
    def missing(make, runs, *more):
        return {one.name for one in make(lines_of(Inputs(runs)), *more) if isinstance(one, Missing)}

    own = given.inputs.runs[:3]
    assert missing(comparisons.ranks, own) == {"Figure 3"} and missing(recall.by_bin, own) == {"Table 3"}
    assert missing(recall.by_kind, own) == {"Table 16"} and missing(recall.diverse_books, own) == {"Table 27"}
    assert missing(comparisons.books_by_order, own) == {"Table 22", "Table 23"}
    assert missing(comparisons.ranks, own[:1]) == {"Figure 3", "Figure 7"}
    assert missing(comparisons.estimation_plots, own[:1]) == {"Figure 8"}
    assert missing(recall.by_chunks, own[:1]) == {"Table 14, memories", "Table 14, chunks"}
    alike = dict.fromkeys(range(1, 21), "Realistic")
    for ratings, (recalled, tested) in (({"another": alike}, (1, 1)), ({own[0].fingerprint: alike}, (0, 1))):
        assert len(missing(recall.by_realism, own, ratings)) == recalled
        assert len(missing(comparisons.realism_tests, own, ratings)) == tested
    gpts = [run for run in given.inputs.runs if run.source == "released" and "prompting_model_gpt" in run.folder.name]
    assert missing(comparisons.books_by_writer, gpts) == {"Table 21"}
    assert missing(comparisons.books_by_writer, own) == {"Table 20", "Table 21"}


@pytest.mark.slow
@pytest.mark.parametrize("archive", [book[0] for book in BOOKS], ids=[book[0].stem for book in BOOKS])
def test_a_published_archive(archive, tmp_path):
    opened = open_archive(archive)
    score_published_runs(opened, tmp_path / "runs", no_progress)
    runs = read_runs([tmp_path / "runs" / run.folder for run in published_runs(opened)], "released")
    made = [one for one in exhibits(Inputs(runs), []) if not isinstance(one, Missing)]
    found = {one.name.partition(",")[0] for one in made}
    assert found >= {"Figure 4", "Table 4", "Table 15", "Table 18", "Table 19", "Figure 8", "E.8"}
    assert all(one.table.rows and one.table.html() for one in made)
