"""What is measured of each checkpoint of a training on the books, and how a run shows it.

Measured are SORT with and without context, perplexities, and what can be read out of hidden states. A run shows its scores, a
table by epoch, and a page with one figure.

Paper: Section 5.4 and Appendix F (Figures 15 to 20).
"""

from __future__ import annotations

import string
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.booksort.dataset.load import Pair, group_of
from epbench.booksort.evaluate import Prepared
from epbench.booksort.scores.results import finish
from epbench.booksort.scores.run_files import read_questions
from epbench.booksort.scores.scoring import LOW_MASS
from epbench.finetuning.curves import Series, curves, epoch_name, perplexity_table, training_page, training_summary
from epbench.finetuning.launching import Ranks
from epbench.finetuning.packing import Sample
from epbench.finetuning.run import ask_together, check_texts, text_perplexity
from epbench.models.estimate import check_window
from epbench.models.protocol import Model
from epbench.progress import Progress, no_progress
from epbench.reports.comparison import comparison_html
from epbench.reports.tables import Table, cell, interval_cell
from epbench.runs.folder import open_run
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import Comparison

if TYPE_CHECKING:
    from epbench.models.hf.likelihood import SpanLikelihood
    from epbench.models.hf.model import TransformersModel


SEGMENTS = "segments"  # the name of the perplexity of the segments

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class SortPlan:
    """What is measured of every checkpoint of one training: the same questions and texts each time."""

    run: Prepared  # the run of SORT without context, prepared for the model before its training
    in_context: bool = True  # whether SORT is also asked with the excerpt in context
    # Texts whose perplexity is measured, by a name such as `books`, `instructions` or `held_out`.
    texts: Mapping[str, Sequence[Sample]] = field(default_factory=dict)

    @property
    def memories(self) -> dict[str, str]:
        """The runs of SORT: the name of each and of its folder, and the memory that it gives the model."""
        return {"sort": "none"} | ({"sort-in-context": "in-context"} if self.in_context else {})

    def prepared(self, memory: str, model: Model) -> Prepared:
        """Return the run that asks a checkpoint with a memory; its requests and its identity are those of any run of SORT."""
        return replace(self.run, evaluation=replace(self.run.evaluation, memory=memory, model=model))

    def check(self, model: Model) -> None:
        """Refuse what could not be measured. No weights are needed, so this can be asked before a model is trained.

        BadInput if a prompt or a text does not fit in the model's window, or the set has no texts of excerpts.
        """
        for memory in self.memories.values():
            check_window(self.prepared(memory, model).requests, model, {})
        check_texts(self.texts, model)


def measure(
    model: TransformersModel,
    folder: Path,
    plan: SortPlan,
    ranks: Ranks,
    about: Mapping[str, Any],
    progress: Progress = no_progress,
) -> dict[str, Any] | None:
    """Measure a checkpoint; called in every process that works together, with the same plan and a copy of the model each.

    Answers to SORT are journaled in `folder/sort` and `folder/sort-in-context`, ordinary folders of runs, so that a
    measurement that was killed goes on where it was. All else is computed anew, which takes about as long as reading the
    texts once and the prompts without context twice. `about` is what else run.json says, such as the epoch; its `label`,
    if there is one, names the checkpoint in tables. BadInput as in `SortPlan.check`, or if a folder holds something else.
    RunFailed if no question has an answer, or memory does not suffice for a single text.

    Returns:
        In the other processes None, in the main one:
        sort and sort_in_context (None if the plan leaves it out): see `summary_of`.
        perplexity: of all tokens of both segments of all pairs in their prompts without context (segments), and of the
        learned tokens of each text of the plan, by its name; None for a text without any.
        pearson: see `correlation`; readout: see `_readout`. seconds: how long each part took, by these names.
    """
    from epbench.models.hf.likelihood import perplexity

    plan.check(model)
    seconds: dict[str, float] = {}
    sort: dict[str, Any] = {"sort": None, "sort_in_context": None}
    for run, memory in plan.memories.items():
        name = run.replace("-", "_")
        with _timed(seconds, name):
            shown = progress if ranks.main else no_progress
            sort[name] = _sort_run(model, folder / run, plan, memory, ranks, about, shown)
    model.reader.forget()  # the last context is not needed again

    with _timed(seconds, "perplexity"):
        asked = _share_of_pairs(model, plan, ranks)
        rows, spans = [ids for ids, _ in asked.values()], [{SEGMENTS: places} for _, places in asked.values()]
        likelihoods = model.likelihoods.of_spans(rows, spans)
        segments = _gathered(asked, [likelihood[SEGMENTS] for likelihood in likelihoods], ranks)
        texts = {name: text_perplexity(model, samples, ranks) for name, samples in plan.texts.items()}
        perplexities = {SEGMENTS: perplexity(segments.values()), **texts}
    with _timed(seconds, "readout"):
        readout = _readout(model, plan.run.pairs, asked, ranks)
    if not ranks.main:
        return None
    pearson = correlation(segments, folder / "sort")
    return {**sort, "perplexity": perplexities, "pearson": pearson, "readout": readout, "seconds": seconds}


def _sort_run(
    model: Model, folder: Path, plan: SortPlan, memory: str, ranks: Ranks, about: Mapping[str, Any], progress: Progress
) -> dict[str, Any] | None:
    """Ask the questions of a plan in every process, as an ordinary run; the main process returns `summary_of` it."""
    run, label = plan.prepared(memory, model), f"{memory}, {about.get('label', model.name)}"
    with ExitStack() as opened:
        if ranks.main:
            evaluation = run.evaluation
            noted = {**about, "dataset": evaluation.dataset, "label": label, "limit": evaluation.limit}
            opened.enter_context(open_run(folder, run.identity, noted))
        excerpts = {pair.id: group_of(pair) for pair in run.pairs}
        ask_together(folder, run.requests, model, ranks, lambda request: excerpts[request.id], progress)
        if not ranks.main:
            return None
        scores = finish(folder, run.pairs, {request.id: request.key(model.identity) for request in run.requests}, label)
        return summary_of(folder, scores)


def summary_of(folder: Path, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is followed from checkpoint to checkpoint, from the folder and the scores of a run that has ended.

    That is accuracy, with its 95 % interval by drawing excerpts; greedy_accuracy; label_mass; log_ratio, the mean of
    log(p(right) / (p(A) + p(B))) in nats, with log_ratio_interval likewise; and the numbers n of answered and n_failed of
    failed questions. What is unknown is None: the accuracies, if questions have failed.
    """
    known = read_questions(folder).dropna(subset="log_ratio")
    ratios = known["log_ratio"].to_numpy()
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, ratios), known["excerpt"].tolist())
    return {
        "accuracy": scores["accuracy"],
        "interval": scores["intervals"].get("accuracy"),
        "greedy_accuracy": scores["greedy_accuracy"],
        "label_mass": scores["label_mass"],
        "log_ratio": float(ratios.mean()) if len(known) else None,
        "log_ratio_interval": list(interval) if interval else None,
        "n": scores["n_questions"],
        "n_failed": scores["n_failed"],
    }


def correlation(segments: Mapping[str, SpanLikelihood], folder: Path) -> dict[str, Any] | None:
    """Correlate how surprising the segments of a pair are to a model with how sure it is of their order.

    That is n, r, p and interval of Pearson's correlation of the log perplexity of a pair's segments with the log ratio of
    its answer, over the pairs whose log ratio is known; None with fewer than three, or if one of them is constant.
    """
    from epbench.statistics.paired import pearson

    known = read_questions(folder).dropna(subset="log_ratio")
    surprise = [-segments[id_].log_likelihood / segments[id_].n_tokens for id_ in known["id"]]
    result = pearson(surprise, known["log_ratio"].tolist())
    return {**asdict(result), "interval": list(result.interval)} if result else None


def _readout(
    model: TransformersModel, pairs: Sequence[Pair], asked: Mapping[str, AskedPair], ranks: Ranks
) -> dict[str, Any] | None:
    """What a layer that was trained on the other books reads out of the last hidden states (Figure 15).

    The fields of `epbench.statistics.readout.Readout`, with by_group by the book's number as a text; None in the other
    processes, and if nothing can be tested.
    """
    import numpy as np

    from epbench.statistics.readout import cross_validated_readout

    for book in {pair.book_idx for pair in pairs}:
        if len({pair.answer for pair in pairs if pair.book_idx != book}) < 2:  # no other book, or only one answer there
            return None
    states = _gathered(asked, model.likelihoods.last_states([ids for ids, _ in asked.values()]), ranks)
    if not ranks.main:
        return None
    features = np.stack([states[pair.id] for pair in pairs])
    readout = cross_validated_readout(features, [pair.answer for pair in pairs], [pair.book_idx for pair in pairs])
    by_group = {str(book): accuracy for book, accuracy in readout.by_group.items()}
    return {**asdict(readout), "interval": list(readout.interval), "by_group": by_group}


AskedPair = tuple[Sequence[int], Sequence[int]]
"""A pair in its prompt without context: the token ids of the prompt, and the positions of the tokens of both segments."""


def _share_of_pairs(model: TransformersModel, plan: SortPlan, ranks: Ranks) -> dict[str, AskedPair]:
    """The pairs that this process reads, by their ids."""
    pairs = {pair.id: pair for pair in plan.run.pairs}
    order = [name for _, name, _, _ in string.Formatter().parse(plan.run.evaluation.pack.segments) if name]
    asked: dict[str, AskedPair] = {}
    for request in ranks.share(plan.prepared("none", model).requests):
        shown = dict(zip(("first", "second"), pairs[request.id].shown, strict=True))
        ids, spans = model.prompts.located(request, [shown[name] for name in order])
        asked[request.id] = ids, sorted(set().union(*spans))
    return asked


def _gathered(ids: Iterable[str], values: Iterable[T], ranks: Ranks) -> dict[str, T]:
    """What all processes have found, by the ids of the pairs."""
    return {id_: value for part in ranks.gather(list(zip(ids, values, strict=True))) for id_, value in part}


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - start, 3)


Record = Mapping[str, Any]


def scores_of(
    measures: Sequence[Record],
    steps: Sequence[Record],
    comparison: Comparison | None,
    method: str,
    control: str | None = None,
) -> dict[str, Any]:
    """Put together the content of scores.json from the records of measures.jsonl, by epoch, and of training.jsonl.

    `comparison` is of all epochs with one another, question by question; `control` what was trained in place of the
    books.
    """
    return {
        "method": method,
        "control": control,
        "epochs": [dict(record) for record in measures],
        "training": training_summary(steps),
        "comparisons": comparison.pairs if comparison else [],
        "warnings": _warnings(measures),
    }


def tables_of(scores: Record) -> list[Table]:
    """What is remembered and what it costs: tables with a row for each measured epoch."""
    note, episodic = _perplexity_note(scores), scores["control"] is None
    return [_remembered(scores), perplexity_table(scores["epochs"], [note], episodic=episodic)]


def _remembered(scores: Record) -> Table:
    head = ["epoch", "SORT", "95 %", "greedy", "label mass", "log ratio", "in-context", "read-out", "r"]
    episodic = scores["control"] is None
    shown = epoch_name if episodic else str
    rows = []
    for record in scores["epochs"]:
        sort = record["sort"]
        row = [shown(record["epoch"]), cell(sort["accuracy"]), interval_cell(sort["interval"], digits=2)]
        row += [cell(sort[name]) for name in ("greedy_accuracy", "label_mass", "log_ratio")]
        further = {"sort_in_context": "accuracy", "readout": "accuracy", "pearson": "r"}
        rows.append([*row, *(cell((record.get(name) or {}).get(number)) for name, number in further.items())])
    trained = (
        "Only after epoch 1 is the memory episodic, as every text was seen once."
        if episodic
        else f"This is a control ({scores['control']}): the books were never trained."
    )
    notes = [
        f"Method: {scores['method']}. Epoch 0 is the model before training. {trained}",
        "log ratio: mean of log(p(right) / (p(A) + p(B))) in nats, without context. r: Pearson's correlation over the pairs "
        "between this and the log perplexity of the segments.",
        "read-out: a logistic regression on the last hidden state, trained on all books but one and tested on that one.",
    ]
    return Table(head, rows, "What is remembered", notes)


def _perplexity_note(scores: Record) -> str:
    """Say which of the texts were trained: the books unless this is a control, and instructions if there were any."""
    instructions = any("instructions" in record["perplexity"] for record in scores["epochs"])
    if scores["control"] is None:
        trained = "Segments, books and instructions" if instructions else "Segments and books"
        return f"{trained} are of the kinds that are trained, the held-out text is not."
    of_kind = "Instructions are of a kind that is trained. " if instructions else ""
    return f"{of_kind}Segments, books and the held-out text were never trained."


def html_report(title: str, run: Record, scores: Record, comparison: Comparison | None) -> str:
    """The page of a run, from the contents of run.json and scores.json."""
    body = _figure(scores) + "".join(table.html() for table in tables_of(scores))
    if comparison:
        body += f"<h2>Epochs compared, question by question</h2>{comparison_html(comparison)}"
    return training_page(title, run, scores, body)


def _figure(scores: Record) -> str:
    """Draw what is remembered and what is forgotten, by epoch."""
    records = scores["epochs"]
    lines = [("SORT, no context", "sort"), ("SORT, in-context", "sort_in_context"), ("read-out", "readout")]
    remembered = [
        Series(label, *([record[name][what] for record in records] for what in ("accuracy", "interval")))
        for label, name in lines
        if all(record.get(name) for record in records)
    ]
    perplexities = [record["perplexity"] for record in records]
    epochs, episodic = [record["epoch"] for record in records], scores["control"] is None
    return curves(epochs, remembered, perplexities, chance=0.5, episodic=episodic)


def _warnings(measures: Sequence[Record]) -> list[str]:
    masses = {record["epoch"]: record["sort"]["label_mass"] for record in measures}
    warnings = []
    if low := [epoch for epoch, mass in masses.items() if mass is not None and mass < LOW_MASS]:
        warnings.append(
            f"{_epochs(low)}: A and B together have less than half of the probability of an answer's first token, so that "
            "the accuracy is read from a small rest; see greedy and label mass"
        )
    runs = ("sort", "sort_in_context")
    failed = {record["epoch"]: sum(record[run]["n_failed"] for run in runs if record[run]) for record in measures}
    if without := [epoch for epoch, n in failed.items() if n]:
        n = f"{sum(failed.values()):,}"
        warnings.append(f"{_epochs(without)}: {n} questions have no answer, so that accuracies are unknown")
    return warnings


def _epochs(numbers: Sequence[int]) -> str:
    return f"{'epoch' if len(numbers) == 1 else 'epochs'} {', '.join(map(str, numbers))}"
