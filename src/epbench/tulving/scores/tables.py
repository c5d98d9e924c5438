"""A run's scores as the paper's tables (Tables 3 and 4), for the screen and for a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from epbench.judges.protocol import noted_judge, people_line
from epbench.models.protocol import name_of
from epbench.reports.tables import Runs, Scores, Table, cell, in_markdown, interval_cell, on_screen, warnings_of
from epbench.tulving.calibration.passport import SHARES
from epbench.tulving.questions.generate import BINS
from epbench.tulving.scores.scoring import NAMING, OVER_REPEATS

if TYPE_CHECKING:
    from rich.console import Group

_ORDER = (
    ("latest", "latest"),
    ("all found", "all_matched"),
    ("τ", "kendall_tau"),
    ("chronological awareness", "chronological_awareness"),
    ("failed", "n_failed"),
)
DIFFERENT_JUDGES = "The runs have different judges, and scores from different judges are not comparable."
Cell = Callable[[Scores, str], str]
"""Shows a score: from the content of scores.json and the name of the score to the text of the cell."""


def screen_tables(runs: Runs) -> Group:
    """A row for each run: F1 by number of matching chapters (and their questions), latest state and order; then notes."""
    runs = complete_first(runs)
    return on_screen([*_first_tables(runs, narrow_cell), _order(runs, narrow_cell, notes(runs, mark="* "))])


def markdown_table(runs: Runs) -> str:
    """The same in Markdown, with a third table of the 95 % intervals before the notes."""
    runs = complete_first(runs)
    names = sorted({name for scores in runs.values() for name in scores["intervals"]})
    intervals = Table(
        ["95 % interval, drawing cues with replacement", *runs],
        [[name, *(interval_cell(s["intervals"].get(name), " to ") for s in runs.values())] for name in names],
        notes=notes(runs),
    )
    return in_markdown([*_first_tables(runs, score_cell), _order(runs, score_cell), intervals])


def scores_table(runs: Runs, title: str, names: Mapping[str, str], shown: Cell, notes: Sequence[str] = ()) -> Table:
    """A row for each run with some scores, by name with what they are called, and its judge where the judges differ."""
    judges, coverage = judge_column(runs), coverage_columns(runs)
    head = [title, *(["judge"] if judges else []), *names.values(), *(("answered", "possible") if coverage else ())]
    rows = [
        [label, *judges.get(label, ()), *(shown(scores, name) for name in names), *coverage.get(label, ())]
        for label, scores in runs.items()
    ]
    return Table(head, rows, notes=notes, text_columns=2 if judges else 1)


def _first_tables(runs: Runs, shown: Cell) -> list[Table]:
    bins = {f"f1_by_bin.{bin_}": f"{bin_} ({n_in_bin(runs, bin_)})" for bin_ in BINS}
    recall = scores_table(runs, "F1 by chapters", bins | {"simple_recall_score": "simple recall"}, shown)
    return [recall, _naming(runs), *_links(runs), *_repeats(runs)]


def _order(runs: Runs, shown: Cell, notes: Sequence[str] = ()) -> Table:
    rows = [[label, *(shown(scores, key) for _, key in _ORDER)] for label, scores in runs.items()]
    return Table(["order in time", *(title for title, _ in _ORDER)], rows, notes=notes)


def _naming(runs: Runs) -> Table:
    """How many items the answers name beside the true ones, and what the headline would be if each of them counted."""
    rows = [[label, *(score_cell(scores, name) for name in NAMING)] for label, scores in runs.items()]
    return Table(["items in answers", "named per true item", "latest: several named", "harsh simple recall"], rows)


def naming_notes(runs: Runs) -> list[str]:
    """What must be said where answers name more than is asked for, which the lenient F1 of the paper does not count.

    A line for each run that names more than `MANY` items for each true one, and one for the runs on the same questions that
    lenient and harsh F1 rank differently.
    """
    lines = [
        f"{f'{label}: its' if len(runs) > 1 else 'The'} answers name {ratio:.1f} items for each true one, and surplus items cost "
        f"nothing in F1; by harsh F1, which counts them, simple recall is {score_cell(scores, 'harsh_simple_recall_score')}."
        for label, scores in runs.items()
        if (ratio := scores.get("items_ratio")) is not None and ratio > MANY
    ]
    ranked = [(label, s) for label, s in runs.items() if None not in (s["simple_recall_score"], s.get(NAMING[-1]))]
    pairs = []
    for (first_label, first), (second_label, second) in combinations(ranked, 2):
        recall, harsh = (first[name] - second[name] for name in ("simple_recall_score", NAMING[-1]))
        if first["n_by_bin"] == second["n_by_bin"] and recall * harsh < 0:
            pairs.append((first_label, second_label) if recall > 0 else (second_label, first_label))
    if pairs:
        shown = "; ".join(f"{better} is ahead of {worse}" for better, worse in pairs[:_MOST_PAIRS])
        more = f"; and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
        lines.append(
            f"Simple recall and harsh simple recall rank these runs differently. By simple recall {shown}{more}."
        )
    return lines


def _links(runs: Runs) -> list[Table]:
    linked = {label: scores for label, scores in runs.items() if scores.get("f1_by_links")}
    numbers = sorted({n for scores in linked.values() for n in scores["n_by_links"]}, key=int)
    rows = [[label, *(cell(scores["f1_by_links"].get(n)) for n in numbers)] for label, scores in linked.items()]
    return [Table(["F1 by links", *numbers], rows)] if rows else []


def _repeats(runs: Runs) -> list[Table]:
    """What several answers to one question have in common, if there are runs that asked several times."""
    rows = []
    for label, scores in runs.items():
        if found := scores.get("over_repeats"):
            intervals = [scores["intervals"].get(f"over_repeats.{name}") for name in OVER_REPEATS]
            shares = [_with_interval(found[name], ends) for name, ends in zip(OVER_REPEATS, intervals, strict=True)]
            rows.append([label, f"{found['n']:,} × {found['repeats']}", cell(found["f1_sd"]), *shares])
    head = ["repeats", "questions", "spread of F1 within one", "right at least once", "right every time (pass^k)"]
    return [Table(head, rows)] if rows else []


def _with_interval(value: float | None, interval: list[float] | None) -> str:
    """A rate with its interval, such as `0.912 (0.888–0.931)`."""
    return f"{cell(value)} ({interval_cell(interval)})" if interval else cell(value)


MANY = 1.5
"""The number of items that answers may name for each true one before the tables warn of it."""

_MOST_PAIRS = 3


def coverage_columns(runs: Runs) -> dict[str, list[str]]:
    """How many questions each run has answers to, and the bounds of its simple recall whatever the other answers would be.

    Two cells for each run, such as `3 of 450` and `0.007–0.998`; nothing if every question of every run is answered.
    """
    if not any(scores.get("possible") for scores in runs.values()):
        return {}
    cells, name = {}, "simple_recall_score"
    for label, scores in runs.items():
        counts, bounds = scores.get("coverage"), scores.get("possible", {}).get(name)
        answered = f"{counts['answered']:,} of {counts['asked']:,}" if counts else "–"
        cells[label] = [answered, interval_cell(bounds) if bounds else score_cell(scores, name)]
    return cells


def score_cell(scores: Scores, name: str, bounds: str = "{:.3f}–{:.3f} (incomplete)") -> str:
    """A score with three digits after the point, or its bounds `0.250–1.000 (incomplete)` if questions of it failed.

    The name is that in `intervals` of scores.json, such as `f1_by_bin.2`; a dash is for what the version did not compute.
    """
    if ends := scores["incomplete"].get(name):
        return bounds.format(*ends)
    return cell(scores["f1_by_bin"].get(name.removeprefix("f1_by_bin.")) if "." in name else scores.get(name))


narrow_cell = partial(score_cell, bounds="{:.3f}– {:.3f}*")
"""The same in a narrow column, where `0.250– 1.000*` can be broken between the ends."""


def complete_first(runs: Runs) -> dict[str, Scores]:
    """Put runs that cannot be ranked after the others: those with an incomplete score or fewer questions than another."""
    most = max(map(n_different, runs.values()), default=0)
    return dict(sorted(runs.items(), key=lambda run: (bool(run[1]["incomplete"]), n_different(run[1]) < most)))


def n_different(scores: Scores) -> int:
    """The number of different questions that a run was asked; in runs of versions that did not tell, that of all."""
    return int(scores.get("coverage", {}).get("questions", scores["n_questions"]))


def judge_names(runs: Runs) -> dict[str, str]:
    """The judge of each run: its name, with its prompts and setup where another judge of these runs has the same name."""
    judges = {label: scores.get("judge") for label, scores in runs.items()}
    namesakes = Counter(judge.name for judge in {noted_judge(judge) for judge in judges.values() if judge})
    return {label: _name_of(judge, namesakes) for label, judge in judges.items()}


def _name_of(judge: Mapping[str, Any] | None, namesakes: Mapping[str, int]) -> str:
    if judge is None:
        return "not noted"
    if judge["prompt_hash"] is None:
        return f"{judge['name']} (as released)"
    return str(noted_judge(judge) if namesakes[judge["name"]] > 1 else judge["name"])


def judge_column(runs: Runs) -> dict[str, list[str]]:
    """The name of each run's judge, in a list of one item; empty if all runs have the same judge."""
    names = judge_names(runs)
    return {label: [name] for label, name in names.items()} if len(set(names.values())) > 1 else {}


def notes(runs: Runs, mark: str = "") -> list[str]:
    """What a reader of the tables must know: what is missing in which run, explained behind its mark there, and who judged."""
    named = {f"{label}: " if len(runs) > 1 else "": scores for label, scores in runs.items()}
    lines = []
    for who, scores in named.items():
        if not scores["n_failed"]:
            continue
        where = [f"bin {bin_}: {n}" for bin_, n in scores["failed_by_bin"].items()]
        if others := scores["n_failed"] - sum(scores["failed_by_bin"].values()):
            where.append(f"latest and order: {others}")
        lines.append(
            f"{who}{scores['n_failed']} of {scores['n_questions']} questions have no answer or no verdict "
            f"({', '.join(where)})."
        )
    lines += [
        f"{who}{missing:,} of {scores['n_questions']:,} questions have no answer in the file, which counts as wrong."
        for who, scores in named.items()
        if (missing := scores.get("coverage", {}).get("missing"))
    ]
    most = max(map(n_different, runs.values()), default=0)
    lines += [
        f"{label}: it was asked {n_different(scores):,} questions and another run {most:,}, so it is not ranked with that one."
        for label, scores in runs.items()
        if n_different(scores) < most
    ]
    if any(scores["incomplete"] for scores in runs.values()):
        lines.append(
            f"{mark}An incomplete score is a range, from all of these questions wrong to all of them right. The command "
            "of the run, given again, asks its reader or judge for what is missing. Answers that were cut off need a larger "
            "--max-tokens."
        )
    lines += [*warnings_of(runs), *naming_notes(runs)]
    if judge_column(runs):
        lines.append(DIFFERENT_JUDGES)
    return [*lines, *judge_lines(runs)]


def n_in_bin(runs: Runs, bin_: str) -> str:
    """The number of questions in a bin, such as `54`, or `9–54` where runs asked subsets of different size."""
    counts = [scores["n_by_bin"].get(bin_, 0) for scores in runs.values()]
    return "–".join(map(str, sorted({min(counts), max(counts)})))


def judge_lines(runs: Runs) -> list[str]:
    """One line for each judge: what is known about it, and the simple recall of its runs corrected for its errors."""
    judged: dict[str, list[str]] = {}
    for name, scores in runs.items():
        judged.setdefault(_about_judge(scores.get("judge")), []).append(name)
    lines = []
    for about, names in judged.items():
        corrected = {name: found for name in names if (found := runs[name].get("corrected"))}
        recalls = {name: found["simple_recall_score"] for name, found in corrected.items()}
        prefix = f"{', '.join(names)}: " if len(judged) > 1 else ""
        lines.append(f"{prefix}{about}{_corrected(recalls, len(names))}")
    return lines


def _about_judge(judge: Mapping[str, Any] | None) -> str:
    if judge is None:
        return "judge: not noted"
    if judge["prompt_hash"] is None:
        return f"judge {judge['name']}, as released: its prompts are not ours, so it has no passport"
    if judge["passport"] is None:
        check = f"epbench judge-check --judge {name_of(judge['name'])} --out runs/judge"
        message = f"judge {judge['name']} has no passport; make one with the judge's options, and report again: {check}"
        return f"WARNING: {_one_score(judge['one_score'])}; {message}" if "one_score" in judge else message
    shares = ", ".join(f"{name} {_with_interval(judge[name], judge[f'{name}_interval'])}" for name in SHARES)
    failed = f"; no verdict on {n} answers of the calibration set" if (n := judge["passport"].get("failed")) else ""
    said = f"; {line}" if (line := people_line(judge)) else ""
    return f"judge {judge['name']}: {shares}{failed}{said}"


def _one_score(same: Mapping[str, int]) -> str:
    """Why the scores may be worthless, if a judge gave the same score to everything."""
    accepts = same["score"] == 1
    return (
        f"the judge gave {same['score']} to every true item of all {same['answers']:,} answers, so either all of these are "
        f"{'complete' if accepts else 'wrong'}, or it {'accepts' if accepts else 'rejects'} whatever it reads and the scores "
        "mean nothing"
    )


def _corrected(recalls: Mapping[str, float | None], n_runs: int) -> str:
    """The end of a line: the corrected recalls, with the names of the runs if there are several."""
    if not recalls:
        return ""
    if None in recalls.values():
        return "; it tells right from wrong answers too rarely for scores to be corrected"
    values = [f"{name} {cell(recall)}" if n_runs > 1 else cell(recall) for name, recall in recalls.items()]
    return f"; simple recall corrected for it: {', '.join(values)}"
