"""The exhibits that ask for more than accuracies: what was chosen for a model, and what changes its answers.

Chosen are models, prompts, queries and readings (Tables 5, 7, 8 and 10, Appendix C.1 to C.4). Answers change with longer
segments (Appendix D.2), a label (C.3) and the middle of an excerpt (D.6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.retrieval import DEPTH, RETRIEVED, recall_at
from epbench.booksort.evaluation import CHOICE, CHOSEN
from epbench.booksort.paper import rates
from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import CHANCE, Group, Made, about, gained, named, tested
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.booksort.scores.scoring import against_guessing
from epbench.files.json_files import read_json
from epbench.files.text import one_line
from epbench.journals.journal import read_journal
from epbench.reports.exhibit import Column, Row, columns_of, counted, difference, exhibit, fixed, mean_margin, p_value
from epbench.reports.plots import grouped, grouped_by, points
from epbench.reports.reported import sources
from epbench.runs.folder import read_run
from epbench.runs.several import runs_in
from epbench.statistics.estimate import Estimate, Value, corrected, drawing_clusters, estimate, framed, range_of
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import holm
from epbench.statistics.smallest_difference import smallest_difference_of_rates

if TYPE_CHECKING:
    import pandas as pd


def exhibits(inputs: Inputs) -> list[Made]:
    """All of them."""
    single = (_share_of_a, _segment_lengths, regression, _table_5, _table_8)
    prompts = _chosen(inputs, "prompt", "Table 7", "runs in which the prompt")
    readings = _chosen(inputs, "reading", "Table 10", "runs with retrieval in which the reading of passages")
    return [*(make(inputs) for make in single), *prompts, *readings]


def _table_5(inputs: Inputs) -> Made:
    reported = [row for row in inputs.reported if "mmlu" in row.scores]
    rows: list[tuple[Value, ...]] = [
        ("reported", row.model, row.note, None, None, None, row.scores["mmlu"]) for row in reported
    ]
    for (model, weights), of in grouped_by(inputs.runs, lambda run: (run.model, run.identity.get("weights"))).items():
        memories = ", ".join(sorted({run.memory for run in of}))
        rows.append(("own", model, model.partition(":")[2] or model, weights, memories, len(of), None))
    notes = [
        "MMLU: percent, as it is reported; it is not measured here. weights: the fingerprint of the files, for models on this "
        "machine.",
        *sources(reported),
    ]
    columns = [*named("of_model name weights memories n_runs"), Column("MMLU", fixed("mmlu", 2))]
    names = ("source", "model", "name", "weights", "memories", "n_runs", "mmlu")
    records = (dict(zip(names, row, strict=True)) for row in rows)
    return exhibit("Table 5", "The models", records, columns, notes, needs="at least one run", sections="source")


def _chosen(inputs: Inputs, what: str, name: str, kind: str) -> list[Made]:
    """The prompt, or the reading of passages, that was chosen for each model, and how well each did that was tried."""
    reported = [row for row in inputs.reported if what in row.scores]
    empty = dict.fromkeys(("tied", "n_tied", *rates.UNTESTED, "share_a"))
    rows: list[Row] = [
        {"source": "reported", "label": row.source, "model": row.model, "memory": row.memory, "pairs": row.dataset}
        | {what: int(row.scores[what]), "chosen": 1, **empty}
        for row in reported
    ]
    tried = [row for run in inputs.runs for row in _tried(run, what)]
    rows += [row for row in tried if row["chosen"]]
    needs = f"{kind} was chosen on held-out pairs"
    notes = [
        "The numbers are the paper's; the texts are those of this package, in its own words. The choice is made on the "
        "validation split: of those within one standard error of the best accuracy, the one whose share of A is nearest to one "
        "half. tied: how many were within it.",
        *sources(reported),
    ]
    columns = named(f"of_model memory pairs {what} accuracy share_a n failed n_tied")
    title = f"The {what} that was chosen for each model on held-out pairs"
    chosen = exhibit(name, title, rows, columns, notes, needs=needs, sections="source")
    if not rows:
        return [chosen]
    sizes = " to ".join(map(str, sorted({min(n), max(n)}))) if (n := [row["n"] for row in tried]) else ""
    notes = [
        f"Each accuracy is over {sizes} held-out pairs. ← marks the choice. The numbers are not tested against one another: they "
        "chose, and do not show a result."
    ]
    shown = mean_margin()
    columns = columns_of({what: what, "{}": lambda row: shown(row) + (" ←" if row["chosen"] else "")})
    title = f"Accuracy of every {what} that was tried on held-out pairs"
    every = [{**row, "tried": f"{row['label']} ({row['pairs']})"} for row in tried]
    return [chosen, exhibit(f"{name}, all that were tried", title, every, columns, notes, needs=needs, across="tried")]


def _tried(run: PaperRun, what: str) -> Iterator[Row]:
    """Every text that a run tried; without an accuracy if questions failed."""
    for part in runs_in(run.folder) if run.identity else ():
        choice = read_json(part / CHOICE, CHOSEN) if (part / CHOICE).is_file() else {}
        pairs = " ".join(read_run(part)["identity"].get("config") or ())
        for one in choice[f"{what}s"] if what in choice else ():
            n, failed, accuracy, tied = one["n"], one["failed"], one["accuracy"], choice["tied"]
            found = range_of(round(accuracy * n), n, failed) if failed else Estimate(n, 0, accuracy if n else None)
            names = {**about(run), "pairs": pairs, what: one["number"], "chosen": int(one["number"] == choice[what])}
            names |= {"tied": int(one["number"] in tied), "n_tied": len(tied)}
            yield {**names, **found.columns(*rates.UNTESTED), "share_a": one["share_a"]}


def _table_8(inputs: Inputs) -> Made:
    queries, recall_of = load_prompts().queries, "recall_at_10."  # the number of the query follows
    reported = [row for row in inputs.reported if any(score.startswith(recall_of) for score in row.scores)]
    numbers = ("mean", "low", "high", "n")
    rows: list[dict[str, Any]] = [
        {"source": "reported", "label": row.source, "retriever": row.model, "pairs": row.dataset}
        | {"search": f"{row.model} (reported)", "query": int(name.removeprefix(recall_of))}
        | Estimate(None, 0, mean).columns(*numbers)
        for row in reported
        for name, mean in row.scores.items()
    ]
    for run in (run for run in inputs.runs if run.memory == "rag"):
        retriever, pairs = str(run.identity.get("retriever")), f"{' '.join(run.configs)}, {run.identity.get('split')}"
        about = {"source": "own", "label": run.label, "retriever": retriever, "pairs": pairs}
        search = {"search": f"{run.label}: {retriever}, {pairs}", "query": run.identity.get("query", 0)}
        rows.append(about | search | _recall(run).columns(*numbers))
    notes = [
        "A segment is found if a passage contains at least half of its characters. The queries are those of this package, "
        "in its own words; their numbers are those of the paper. ± is how far the 95 % interval, which draws excerpts, reaches.",
        *sources(reported),
    ]
    columns = [
        Column("no.", lambda row: str(row["query"]), text=True),
        Column("query", lambda row: one_line(queries[row["query"]]) if row["query"] < len(queries) else "–", text=True),
        Column("{}", mean_margin()),
    ]
    title = f"The share of segments that a search finds among its first {DEPTH} passages, by what is searched for"
    needs = "at least one run with memory rag"
    rows.sort(key=itemgetter("query"))
    return exhibit("Table 8", title, rows, columns, notes, needs=needs, across="search")


def _recall(run: PaperRun) -> Estimate:
    """The recall of a run, from what it retrieved for both segments of the pairs that it asked."""
    # The second asking of a pair has the passages of the first.
    asked = run.questions.query("not swapped").set_index("id")["excerpt"]
    records = [record for part in runs_in(run.folder) for record in read_journal(part / RETRIEVED).values()]
    found = framed({"id": one["id"], "recall": recall_at([one])} for one in records if one["id"] in asked.index)
    if found.empty:
        return Estimate(None)
    found["excerpt"] = asked.reindex(found["id"]).to_numpy()
    recall = estimate(found, "recall", cluster="excerpt", interval=drawing_clusters)
    return replace(recall, n=recall.n and 2 * recall.n)


def _segment_lengths(inputs: Inputs) -> Made:
    runs = [run for run in inputs.runs if run.questions["segment_length"].nunique() > 1]
    gains = corrected([_longer(run.questions) for run in runs])
    lengths = [tested(rates.accuracies(run, rates.by("segment_length"))) for run in runs]
    rows = [{**row, **gained(gain)} for of, gain in zip(lengths, gains, strict=True) for row in (of[0], of[-1])]
    least = max((gain.smallest for gain in gains if gain.smallest is not None), default=None)
    shows = f" The run with the fewest questions shows a difference of {least:.3f} with 80 % power." if least else ""
    notes = [
        "Gain of the longer segments with its 95 % interval, by drawing excerpts, which the lengths do not share.",
        "p: Fisher's exact test, two-sided, by Holm for all runs; none for runs in both orders, whose askings are no independent "
        f"questions. * p < .05, ** p < .01.{shows}",
    ]
    shown = columns_of({"gain": difference("gain_"), "p": p_value("gain_p_holm"), "{} words": counted(mean_margin())})
    drawn = [{**row, "what": f"segments of {row['segment_length']} words"} for row in rows]
    plot = partial(points, drawn, "label", "what", "accuracy", guess=CHANCE)
    title = "Accuracy by the length of segments, and what longer ones gain (Appendix D.2)"
    needs = "a run with segments of 20 and of 50 words, on several configs"
    columns = [*named("run model memory"), *shown]
    return exhibit("Segment lengths", title, rows, columns, notes, plot, needs=needs, across="segment_length")


def _longer(questions: pd.DataFrame) -> Estimate:
    """What the longest segments of a run gain over its shortest; nothing if questions failed."""
    from scipy.stats import fisher_exact

    lengths = questions["segment_length"]
    long, short = ((lengths == end).to_numpy() for end in (lengths.max(), lengths.min()))
    if questions["right"].isna().to_numpy()[long | short].any():
        return Estimate(None)
    right = questions["right"].fillna(0).to_numpy()  # of other lengths, which do not count
    low, high = cluster_bootstrap(
        lambda weights: weighted_mean(weights * long, right) - weighted_mean(weights * short, right),
        questions["excerpt"].tolist(),
    ) or (None, None)
    counts = [[int(right[one].sum()), int((1 - right[one]).sum())] for one in (long, short)]
    n = int(min(long.sum(), short.sum()))
    smallest = smallest_difference_of_rates(float(right[long | short].mean()), n, paired=False)
    p = None if questions["swapped"].any() else float(fisher_exact(counts).pvalue)
    gain = float(right[long].mean() - right[short].mean())
    return Estimate(int(long.sum() + short.sum()), 0, gain, low=low, high=high, p=p, smallest=smallest)


def _share_of_a(inputs: Inputs) -> Made:
    rows = tested([one for one in map(_share, inputs.runs) if one[1].mean is not None])
    least = max((row["smallest"] or 0.0 for row in rows), default=0.0)
    notes = [
        "Over the answers that name a segment; interval: 95 %, by drawing excerpts.",
        "p: exact binomial test against 0.5, two-sided, by Holm for all runs. * p < .05, ** p < .01. The fewest answers of a "
        f"run show a share {least:.3f} away from 0.5 with 80 % power.",
        "A model that prefers a label is right less often than it could be; asking in both orders cancels this.",
    ]
    shown = named("interval share_a_right p n n_neither failed")
    columns = [*named("run model memory"), Column("share of A", "mean"), *shown]
    answers = [{**row, "what": "answers that are A"} for row in rows]
    none = {"low": None, "high": None, "what": "questions where A is right"}
    right = [{**row, **none, "mean": row["share_a_right"]} for row in rows]
    plot = partial(points, [*answers, *right], "label", "what", "share of A", guess=CHANCE)
    title = "How often the answer is A, and how often A is right (Appendix C.3)"
    return exhibit("Share of A", title, rows, columns, notes, plot, needs="at least one run")


def _share(run: PaperRun) -> tuple[Group, Estimate]:
    """What a run is, how often A is right and what answers do not count; and the share of A among those that count."""
    answered = run.questions[run.questions["right"].notna()]
    said = answered[answered["predicted"].isin(["A", "B"])]
    said = said.assign(right=(said["predicted"] == "A").astype(float), swapped=False)
    share = rates.of_excerpts(
        said, "right", test=against_guessing, smallest=lambda n: rates.POWER * CHANCE / math.sqrt(n)
    )
    n_failed = len(run.questions) - len(answered)
    right = float((said["answer"] == "A").mean()) if len(said) else None
    counts = {"share_a_right": right, "n_neither": len(answered) - len(said), "n_failed": n_failed}
    return {**about(run), **counts}, replace(share, n_failed=n_failed)


def regression(inputs: Inputs) -> Made:
    """Whether answers are worse in the middle at equal distance, which Figure 11 alone does not say (Appendix D.6)."""
    effects = [(run, middle_effect(run.questions)) for run in inputs.runs if run.memory == "in-context"]
    rows = list[dict[str, Any]]()
    for (run, effect), term in product(effects, ("middle", "middle x length")):
        found, inside, outside = effect.get("terms", {}).get(term, {}), effect["in_middle"], effect["elsewhere"]
        numbers = {name: found.get(name) for name in ("coefficient", "low", "high", "odds_ratio", "p")}
        counts = {"n": effect["n"], "n_failed": effect["n_failed"], "n_in_middle": inside["n"]}
        shares = {"accuracy_in_middle": inside["accuracy"], "accuracy_elsewhere": outside["accuracy"]}
        rows.append({**about(run), "term": term, **numbers, **counts, **shares, "p_holm": None})
    for known in grouped((row for row in rows if row["p"] is not None), "term").values():
        for row, p in zip(known, holm([row["p"] for row in known]), strict=True):
            row["p_holm"] = p
    notes = [
        "A logistic regression of right answers on whether both segments begin in the middle third, on the length of the "
        "excerpt, on both together, and on the distance of the segments, with errors clustered by excerpt; failed questions "
        "are left out. An odds ratio below 1 says that the middle is harder. Wald tests, corrected by Holm for the number of "
        "runs, for each of the two terms. * p < .05, ** p < .01.",
        "The paper found an effect of the middle in nine of ten models, and in seven one that depends on the length.",
        *(f"{run.label}: {effect['not_estimable']}." for run, effect in effects if "not_estimable" in effect),
    ]

    def odds(row: Row) -> str:
        if row["coefficient"] is None:
            return "–"
        return f"{row['odds_ratio']:.2f} ({math.exp(row['low']):.2f}–{math.exp(row['high']):.2f})"

    columns = [*named("run model"), *columns_of({"pairs": "n", "in the middle": "n_in_middle", "failed": "n_failed"})]
    columns += columns_of({"{}": odds, "{}: p": p_value()})
    title = "Odds of a right answer if both segments begin in the middle third, at equal distance"
    return exhibit("Figure 11, regression", title, rows, columns, notes, needs="in-context runs", across="term")
