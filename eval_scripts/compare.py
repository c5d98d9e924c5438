"""Compare runs question by question, or the judges of one run on a Tulving book.

    python eval_scripts/compare.py runs/mine
    python eval_scripts/compare.py runs/mine --out runs/mine-judges
    python eval_scripts/compare.py runs/in-context runs/rag-chapter runs/rag-paragraph --out runs/compared
    python eval_scripts/compare.py published/short/answered_by_x runs/mine --dataset out/short
    python eval_scripts/compare.py runs/sort/in-context runs/sort/rag --out runs/sort/compared
    python eval_scripts/compare.py runs/books runs/control --out runs/trained
    python eval_scripts/compare.py runs/books runs/sort/in-context --out runs/trained-or-shown
    python eval_scripts/compare.py runs/memfail/none runs/memfail/verbatim-bm25 --out runs/memfail/compared

One run on a Tulving book that several judges have judged (eval_scripts/tulving.py --rejudge): for any two judges the share
of true items that both find or both miss, Cohen's kappa, how far their scores, numbers of items and F1 are apart, and the
answers on which they differ most.

Several runs on the same questions: for any two runs the difference with a 95 % interval, the number of questions on which
either is better, and a test, corrected by Holm for the number of comparisons. Runs of several benchmarks are compared
benchmark by benchmark:
- Tulving books: F1; the interval draws cues with replacement; Wilcoxon's signed-rank test (ties by Pratt). The runs must
  have the same judge. Released runs (--released) can be compared with others once the same judge has judged both.
- Book-SORT: accuracy; the interval draws excerpts; McNemar's exact test, in which the two askings of a pair (--both-orders)
  count once. Beside it stands McNemar's test by chi-square with continuity correction, as in the paper's Figure 18. Where the
  probabilities of both runs are known, also log(p(right) / (p(A) + p(B))): its difference with an interval that draws
  excerpts, and one-sided paired t-tests of whether the first run's is higher, or lower (Figure 19). Holm corrects both
  directions together.
- MemFail: the success rate for each config and k that both have; the interval draws rows; McNemar's exact test. The runs
  must have the same judge.
All tests treat questions as independent, the intervals do not: where the two disagree, trust the interval. Questions that
failed in a run, or that only one run has answered, are left out and counted.

The folder of a fine-tuning stands for the Book-SORT runs in its measures/epoch-N/sort, one for each epoch that was measured,
named like "books, epoch 1"; epoch 0 is the model before the training. Without any, as after training on a Tulving book, it
stands for the runs in measures/epoch-N/tulving. Such folders can be mixed with runs of the same benchmark. What the models
answered with the excerpt before them, in measures/epoch-N/sort-in-context, is compared only if these folders are given.

OUT receives agreement.json or comparison.json with all numbers, the tables in Markdown and, of several runs, comparison.html,
which also shows the p-values of any two runs as figures (of MemFail, if there is one config and k). With runs of several
benchmarks, each has a folder of its own in OUT, such as OUT/booksort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments.declaring import argument, parse

if TYPE_CHECKING:
    from epbench.runs.benchmark import Benchmark
    from epbench.statistics.paired import Comparison

MEASURED = ("sort", "tulving")  # the runs of a fine-tuning that are compared: those of the first kind it has
SHOWN = 3  # disagreements on the screen; agreement.json has more


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The command line; without `out` no files are written."""

    runs: list[Path] = argument("the folder of a run or of a fine-tuning, or several", positional=True)
    dataset: str | None = argument("where the Tulving book is on this machine, if not where the runs found it")
    out: Path | None = argument("folder for the numbers and tables")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.errors import BadInput
    from epbench.runs.benchmark import benchmark_named
    from epbench.runs.several import by_benchmark, change_notes, measured_runs, names_of

    runs = measured_runs(names_of(args.runs), MEASURED)
    found = by_benchmark(runs)
    if args.dataset and "tulving" not in found:
        raise BadInput("--dataset: only runs on Tulving books need one")
    benchmarks = {name: benchmark_named(name, next(iter(of.values()))) for name, of in found.items()}
    if len(runs) == 1 and "tulving" in found:
        _compare_judges(next(iter(runs.values())), args.dataset, args.out)
        return
    for name, of in found.items():
        if len(of) == 1:
            one = args.runs[0] if len(runs) == 1 else next(iter(of.values()))
            raise BadInput(f"{one}: expected two or more runs of {name}, found one")
    for name, of in found.items():
        dataset = args.dataset if name == "tulving" else None
        comparison = benchmarks[name].compare(of, dataset, lambda pairs: command.bar(pairs, "comparisons", len(pairs)))
        comparison.left_out.extend(change_notes(of.values()))
        out = args.out / str(name) if args.out and len(found) > 1 else args.out
        _show(benchmarks[name], len(of), comparison, out)


def _show(benchmark: Benchmark, n_runs: int, comparison: Comparison, out: Path | None) -> None:
    """Print a comparison of runs, and write comparison.json, comparison.md and comparison.html."""
    from epbench.files.json_files import write_json
    from epbench.files.writing import write_text
    from epbench.reports.comparison import comparison_page, comparison_tables
    from epbench.reports.tables import in_markdown
    from epbench.statistics.paired import notes_on

    console = command.console()
    tables, notes = comparison_tables(comparison), notes_on(comparison)
    console.print(*tables)
    for note in notes:
        console.say(note)
    if out:
        content = {"benchmark": benchmark.name, **comparison.about, "pairs": comparison.pairs, "notes": notes}
        write_json(out / "comparison.json", content)
        write_text(out / "comparison.md", in_markdown([replace(tables[0], notes=notes), *tables[1:]]))
        write_text(out / "comparison.html", comparison_page(f"{benchmark.title}: {n_runs} runs compared", comparison))
        console.say(f"all numbers: {out / 'comparison.json'}, with figures: {out / 'comparison.html'}")


def _compare_judges(folder: Path, dataset: str | None, out: Path | None) -> None:
    """Compare the judges of one run on a Tulving book, and write agreement.json and agreement.md."""
    from epbench.files.json_files import write_json
    from epbench.files.writing import write_text
    from epbench.runs.folder import open_run
    from epbench.tulving.scores.comparison import rows_of
    from epbench.tulving.scores.judge_agreement import agreement_screen, agreement_table, agreements

    rows = rows_of([folder], dataset)
    with open_run(folder, {}, {}):  # no other process may be at work in it
        found = agreements(folder, rows)
    console = command.console()
    console.print(agreement_screen({" / ".join(pair["judges"]): pair for pair in found}))
    for pair in found:
        console.say(_differences(pair))
        for disagreement in pair["disagreements"][:SHOWN]:
            console.say("\n".join(["", *_disagreement_lines(pair["judges"], disagreement)]))
    if out:
        write_json(out / "agreement.json", {"run": str(folder), "pairs": found})
        tables = [f"{agreement_table(pair, tuple(pair['judges']))}\n{_differences(pair)}\n" for pair in found]
        write_text(out / "agreement.md", "\n".join(tables))
        console.say(f"\nall numbers: {out / 'agreement.json'}")


def _differences(pair: Mapping[str, Any]) -> str:
    """How far two judges are apart on average, in one line."""
    one_sided = f"; {pair['n_one_sided']} answers judged by only one of them" if pair["n_one_sided"] else ""
    return (
        f"{' / '.join(pair['judges'])}: on average {pair['score_difference']:.3f} apart in a score, "
        f"{pair['items_difference']:.2f} in the number of items, {pair['f1_distance']:.3f} in F1{one_sided}"
    )


def _disagreement_lines(judges: Sequence[str], disagreement: Mapping[str, Any]) -> list[str]:
    """A question on which two judges disagree, its answer, and what each judge says of it."""
    lines = [
        f"{disagreement['id']}: {disagreement['question']}",
        f"  true: {disagreement['truth']}",
        f"  answer: {disagreement['answer']!r}",
    ]
    for judge, verdict in zip(judges, (disagreement["first"], disagreement["second"]), strict=True):
        lines.append(f"  {judge}: F1 {verdict['f1']:.2f}, scores {verdict['scores']}, items {verdict['items']}")
        lines.append(f"    {verdict['reason']}")
    return lines


if __name__ == "__main__":
    command.run(main)
