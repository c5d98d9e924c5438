"""Compare the judges of one run, or several runs on one dataset.

    python eval_scripts/compare.py runs/mine
    python eval_scripts/compare.py runs/mine --out runs/mine-judges
    python eval_scripts/compare.py runs/in-context runs/rag-chapter runs/rag-paragraph --out runs/compared

One run, that several judges have judged (eval_scripts/tulving.py --rejudge): for any two of them the share of true items
that both find or both miss, Cohen's kappa, how far their scores, numbers of items and F1 are apart, and the answers on
which they differ most.

Several runs: for any two of them, question by question, the difference of F1 with a 95 % interval that draws cues with
replacement, the questions on which either is better, and Wilcoxon's signed-rank test (ties by Pratt), corrected for the
number of pairs by Holm. The runs must have the same judge. Questions that only one run has answered are left out and
counted.

OUT gets agreement.json or comparison.json, with all numbers, and the tables in Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench import command

SHOWN = 3  # disagreements on the screen; agreement.json has more


def main(argv: Sequence[str] | None = None) -> None:
    parser = command.parser(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="a run's folder, or several")
    parser.add_argument("--dataset", help="where the dataset lies here, if not where the runs had it")
    parser.add_argument("--out", type=Path, help="folder for the numbers and tables")
    args = parser.parse_args(argv)

    from epbench.errors import BadInput
    from epbench.runs.folder import read_json
    from epbench.tulving.loading import load_tulving

    described: dict[Path, dict[str, Any]] = {}
    for folder in args.runs:
        if not (folder / "run.json").is_file():
            raise BadInput(f"{folder}: no run.json in it; the folder of a run is expected")
        described[folder] = read_json(folder / "run.json")
        if described[folder]["identity"].get("benchmark") != "tulving":
            raise BadInput(f"{folder / 'run.json'}: no run on a Tulving book")
    if len(described) < len(args.runs):
        raise BadInput("a run stands there twice")
    dataset = args.dataset or described[args.runs[0]].get("dataset")
    if dataset is None:
        raise BadInput(f"{args.runs[0] / 'run.json'}: a published run names no dataset; give its book by --dataset")
    data = load_tulving(dataset)
    for folder, run in described.items():
        if run["identity"].get("fingerprint", data.fingerprint) != data.fingerprint:
            raise BadInput(f"{folder / 'run.json'}: this run is on another dataset than {dataset}")
    if len(args.runs) == 1:
        _compare_judges(args.runs[0], data.rows, args.out)
    else:
        _compare_runs(args.runs, data.rows, args.out)


def _compare_judges(folder: Path, rows: Any, out: Path | None) -> None:
    from rich.console import Console

    from epbench.runs.folder import open_run, write_json, write_text
    from epbench.tulving.agreement import agreements
    from epbench.tulving.judge_agreement import agreement_screen, agreement_table

    with open_run(folder, {}, {}):  # nobody else is at work in it
        found = agreements(folder, rows)
    console = Console()
    console.print(agreement_screen({" / ".join(pair["judges"]): pair for pair in found}))
    for pair in found:
        console.print(_apart(pair), soft_wrap=True, markup=False)
        for case in pair["disagreements"][:SHOWN]:
            console.print("", *_case(pair["judges"], case), sep="\n", soft_wrap=True, markup=False, highlight=False)
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


def _compare_runs(folders: Sequence[Path], rows: Any, out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from epbench.errors import BadInput
    from epbench.runs.folder import open_run, write_json, write_text
    from epbench.runs.page import markdown
    from epbench.tulving.agreement import last_judge
    from epbench.tulving.comparison import compare_runs
    from epbench.tulving.judging import read_verdicts

    judges = {folder: last_judge(folder) for folder in folders}
    if len(set(judges.values())) > 1:
        names = "; ".join(f"{folder}: {judge.name} ({judge.prompt_hash})" for folder, judge in judges.items())
        raise BadInput(f"the runs have different judges ({names}); have one judge them all, by --rejudge")
    short = {folder.name for folder in folders}
    runs = {}
    for folder, judge in judges.items():
        with open_run(folder, {}, {}):
            name = folder.name if len(short) == len(folders) else str(folder)
            runs[name] = read_verdicts(folder, rows, judge)
    found = compare_runs(runs)
    head = ["runs", "n", "F1", "difference, 95 % interval", "better / equal / worse", "p"]
    head += ["p (Holm)"] if len(found) > 1 else []
    body = [_row(pair)[: len(head)] for pair in found]
    shown = Table()
    for i, title in enumerate(head):
        shown.add_column(title, justify="left" if i == 0 else "right", overflow="fold")
    for row in body:
        shown.add_row(*row)
    console = Console()
    console.print(shown)
    for pair in found:
        if pair["n_one_sided"]:
            console.print(
                f"{' / '.join(pair['runs'])}: {pair['n_one_sided']} questions answered by only one are left out"
            )
    if out:
        write_json(out / "comparison.json", {"judge": next(iter(judges.values())).name, "pairs": found})
        write_text(out / "comparison.md", markdown(head, body))
        console.print(f"all numbers: {out / 'comparison.json'}", soft_wrap=True)


def _row(pair: Mapping[str, Any]) -> list[str]:
    interval = "" if pair["interval"] is None else f" ({pair['interval'][0]:+.3f} to {pair['interval'][1]:+.3f})"
    return [
        " / ".join(pair["runs"]),
        str(pair["n"]),
        " / ".join(f"{value:.3f}" for value in pair["means"]),
        f"{pair['difference']:+.3f}{interval}",
        " / ".join(str(pair[key]) for key in ("wins", "ties", "losses")),
        f"{pair['p']:.2g}",
        f"{pair['p_holm']:.2g}",
    ]


if __name__ == "__main__":
    command.run(main)
