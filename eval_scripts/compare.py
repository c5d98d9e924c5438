"""Compare runs of one benchmark question by question, or the judges of one run on a Tulving book.

    python eval_scripts/compare.py runs/mine
    python eval_scripts/compare.py runs/mine --out runs/mine-judges
    python eval_scripts/compare.py runs/in-context runs/rag-chapter runs/rag-paragraph --out runs/compared
    python eval_scripts/compare.py published/short/answered_by_x runs/mine --dataset out/short
    python eval_scripts/compare.py runs/sort/in-context runs/sort/rag --out runs/sort/compared
    python eval_scripts/compare.py runs/memfail/none runs/memfail/verbatim-bm25 --out runs/memfail/compared

One run on a Tulving book, that several judges have judged (eval_scripts/tulving.py --rejudge): for any two of them the
share of true items that both find or both miss, Cohen's kappa, how far their scores, numbers of items and F1 are apart,
and the answers on which they differ most.

Several runs on the same questions: for any two of them the difference with a 95 % interval, the questions on which either
is better, and a test, corrected by Holm for the number of all comparisons:
- Tulving books: F1; the interval draws cues with replacement; Wilcoxon's signed-rank test (ties by Pratt). The runs must
  have the same judge. Published runs (--released) are compared with others once the same judge has judged both.
- Book-SORT: accuracy; the interval draws excerpts; McNemar's exact test, in which the two askings of a pair (--both-orders)
  count once. Where the probabilities of both runs are known, also a one-sided paired t-test of whether the first run gives
  the right segment a larger part of p(A) + p(B).
- MemFail: the success rate for each config and k that both have; the interval draws rows; McNemar's exact test. The runs
  must have the same judge.
McNemar's and Wilcoxon's tests take questions as independent, the intervals do not: where the two disagree, trust the
interval. Questions that a run has lost, or that only one run has answered, are left out and counted.

OUT gets agreement.json or comparison.json, with all numbers, and the tables in Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench import command

SHOWN = 3  # disagreements on the screen; agreement.json has more

Compared = tuple[dict[str, Any], list[dict[str, Any]], list[str]]
"""What the comparison is about (for comparison.json), the pairs of runs, and notes."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="a run's folder, or several")
    parser.add_argument("--dataset", help="where the Tulving book lies here, if not where the runs had it")
    parser.add_argument("--out", type=Path, help="folder for the numbers and tables")
    args = parser.parse_args(argv)

    from epbench.errors import BadInput

    if len({folder.resolve() for folder in args.runs}) < len(args.runs):
        raise BadInput("a run stands there twice")
    benchmark = _benchmark_of(args.runs)
    if benchmark != "tulving" and args.dataset:
        raise BadInput("--dataset: only runs on Tulving books need one")
    if benchmark == "tulving" and len(args.runs) == 1:
        _compare_judges(args.runs[0], _tulving_rows(args.runs, args.dataset), args.out)
        return
    if len(args.runs) == 1:
        raise BadInput(f"{args.runs[0]}: one run of {benchmark} found, two or more expected")
    if benchmark == "tulving":
        compared = _compare_tulving(args.runs, _tulving_rows(args.runs, args.dataset))
    else:
        compared = _compare_booksort(args.runs) if benchmark == "booksort" else _compare_memfail(args.runs)
    _show(benchmark, compared, args.out)


def _benchmark_of(folders: Sequence[Path]) -> str:
    """The benchmark that all folders are runs of."""
    from epbench.errors import BadInput
    from epbench.memfail.scores.side_by_side import holds_runs
    from epbench.runs.folder import read_run

    found: dict[Path, str] = {}
    for folder in folders:
        if holds_runs(folder):
            found[folder] = "memfail"
        elif not (folder / "run.json").is_file():
            raise BadInput(f"{folder}: no run.json in it; the folder of a run is expected")
        else:
            benchmark = read_run(folder)["identity"].get("benchmark")
            if benchmark not in ("tulving", "booksort"):
                raise BadInput(
                    f"{folder / 'run.json'}: benchmark {benchmark!r} found, tulving, booksort or memfail expected"
                )
            found[folder] = benchmark
    if len(set(found.values())) > 1:
        raise BadInput(f"the runs are of different benchmarks: {', '.join(f'{f}: {b}' for f, b in found.items())}")
    return found[folders[0]]


def _names(folders: Sequence[Path]) -> dict[Path, str]:
    """What each run is called: by its folder's name, or its whole path where two have the same name."""
    short = {folder.resolve().name for folder in folders}
    return {folder: folder.resolve().name if len(short) == len(folders) else str(folder) for folder in folders}


# Tulving books


def _tulving_rows(folders: Sequence[Path], dataset: str | None) -> Any:
    """The rows that all runs are about."""
    from epbench.errors import BadInput
    from epbench.runs.folder import read_run
    from epbench.tulving.dataset.load import load_tulving

    described = {folder: read_run(folder) for folder in folders}
    dataset = dataset or next((run["dataset"] for run in described.values() if run.get("dataset")), None)
    if dataset is None:
        raise BadInput(f"{folders[0] / 'run.json'}: a published run names no dataset; give its book by --dataset")
    data = load_tulving(dataset)
    for folder, run in described.items():
        fingerprint = run["identity"].get("fingerprint", run.get("fingerprint", data.fingerprint))
        if fingerprint != data.fingerprint:
            raise BadInput(f"{folder / 'run.json'}: this run is on another dataset than {dataset}")
    return data.rows


def _compare_tulving(folders: Sequence[Path], rows: Any) -> Compared:
    from epbench.errors import BadInput
    from epbench.runs.folder import open_run
    from epbench.tulving.judging.verdicts import read_verdicts
    from epbench.tulving.scores.comparison import compare_runs
    from epbench.tulving.scores.judges_of_run import last_judge

    judges = {folder: last_judge(folder) for folder in folders}
    if len(set(judges.values())) > 1:
        told = "; ".join(f"{folder}: {judge.name} ({judge.prompt_hash})" for folder, judge in judges.items())
        raise BadInput(f"the runs have different judges ({told}); have one judge them all, by --rejudge")
    names, runs = _names(folders), {}
    for folder, judge in judges.items():
        with open_run(folder, {}, {}):
            runs[names[folder]] = read_verdicts(folder, rows, judge)
    return {"judge": judges[folders[0]].name}, compare_runs(runs), []


def _compare_judges(folder: Path, rows: Any, out: Path | None) -> None:

    from epbench.runs.folder import open_run, write_json, write_text
    from epbench.tulving.scores.judge_agreement import agreement_screen, agreement_table
    from epbench.tulving.scores.judges_of_run import agreements

    with open_run(folder, {}, {}):  # nobody else is at work in it
        found = agreements(folder, rows)
    console = command.console()
    console.print(agreement_screen({" / ".join(pair["judges"]): pair for pair in found}))
    for pair in found:
        console.print(_apart(pair), soft_wrap=True)
        for case in pair["disagreements"][:SHOWN]:
            console.print("", *_case(pair["judges"], case), sep="\n", soft_wrap=True)
    if out:
        write_json(out / "agreement.json", {"run": str(folder), "pairs": found})
        tables = [f"{agreement_table(pair, tuple(pair['judges']))}\n{_apart(pair)}\n" for pair in found]
        write_text(out / "agreement.md", "\n".join(tables))
        console.print(f"\nall numbers: {out / 'agreement.json'}", soft_wrap=True)


def _apart(pair: Mapping[str, Any]) -> str:
    one_sided = f"; {pair['n_one_sided']} answers judged by only one of them" if pair["n_one_sided"] else ""
    return (
        f"{' / '.join(pair['judges'])}: on average {pair['score_difference']:.3f} apart in a score, "
        f"{pair['items_difference']:.2f} in the number of items, {pair['f1_distance']:.3f} in F1{one_sided}"
    )


def _case(judges: Sequence[str], case: Mapping[str, Any]) -> list[str]:
    """A disagreement, for the screen."""
    lines = [f"{case['id']}: {case['question']}", f"  true: {case['truth']}", f"  answer: {case['answer']!r}"]
    for judge, verdict in zip(judges, (case["first"], case["second"]), strict=True):
        lines.append(f"  {judge}: F1 {verdict['f1']:.2f}, scores {verdict['scores']}, items {verdict['items']}")
        lines.append(f"    {verdict['reason']}")
    return lines


# Book-SORT and MemFail


def _compare_booksort(folders: Sequence[Path]) -> Compared:
    from epbench.booksort.scores.comparison import check_same_rows, compare_runs, read_outcomes
    from epbench.runs.folder import read_run, read_scores

    for folder in folders:
        read_scores(folder)  # a run that did not end has none
    check_same_rows({folder: read_run(folder) for folder in folders})
    names = _names(folders)
    return {}, compare_runs({names[folder]: read_outcomes(folder) for folder in folders}), []


def _compare_memfail(folders: Sequence[Path]) -> Compared:
    from epbench.memfail.scores.comparison import compare_runs, not_compared, read_results

    results, judge = read_results(folders)
    names = _names(folders)
    runs = {names[folder]: found for folder, found in results.items()}
    about = {"judge": judge["name"], "prompt_hash": judge["prompt_hash"]}
    return about, compare_runs(runs), not_compared(runs)


# Tables


def _show(benchmark: str, compared: Compared, out: Path | None) -> None:
    from rich.table import Table

    from epbench.reports.page import bullets, markdown
    from epbench.runs.folder import write_json, write_text
    from epbench.statistics.comparison import note_on

    about, found, notes = compared
    notes = [*(note for pair in found for note in note_on(pair)), *notes]
    head, body = _table(benchmark, found)
    shown = Table()
    for i, title in enumerate(head):
        shown.add_column(title, justify="left" if i == 0 else "right", overflow="fold")
    for row in body:
        shown.add_row(*row)
    console = command.console()
    console.print(shown)
    for note in notes:
        console.print(note, soft_wrap=True)
    if out:
        write_json(out / "comparison.json", {"benchmark": benchmark, **about, "pairs": found, "notes": notes})
        lines = bullets(notes)
        write_text(out / "comparison.md", markdown(head, body) + (f"\n{lines}" if notes else ""))
        console.print(f"all numbers: {out / 'comparison.json'}", soft_wrap=True)


_VALUE = {"tulving": "F1", "booksort": "accuracy", "memfail": "success"}


def _table(benchmark: str, found: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """A line for each comparison; columns that say nothing here are left out."""
    columns = {
        "runs": [" / ".join(pair["runs"]) for pair in found],
        "config, k": [f"{pair['config']}, {pair['k']}" for pair in found if "config" in pair],
        "n": [str(pair["n"]) for pair in found],
        _VALUE[benchmark]: [" / ".join(f"{value:.3f}" for value in pair["means"]) for pair in found],
        "difference, 95 % interval": [_difference(pair) for pair in found],
        "better / equal / worse": [" / ".join(str(pair[key]) for key in ("wins", "ties", "losses")) for pair in found],
        "p": [f"{pair['p']:.2g}" for pair in found],
        "p (Holm)": [f"{pair['p_holm']:.2g}" for pair in found if len(found) > 1],
        "p (log ratio)": [
            f"{pair['log_ratio']['p']:.2g}" if pair["log_ratio"] else "–"
            for pair in found
            if any(other.get("log_ratio") for other in found)
        ],
    }
    shown = {title: cells for title, cells in columns.items() if cells}
    return list(shown), [list(row) for row in zip(*shown.values(), strict=True)]


def _difference(pair: Mapping[str, Any]) -> str:
    interval = "" if pair["interval"] is None else f" ({pair['interval'][0]:+.3f} to {pair['interval'][1]:+.3f})"
    return f"{pair['difference']:+.3f}{interval}"


if __name__ == "__main__":
    command.run(main)
