"""The method of MemFail: store facts in a memory system, ask it for them, have a reader answer, and judge each stage.

Paper: Section 5.1. Phase 1: everything is stored, and the store is listed, before the first query. Phase 2: the system is
asked at every k, and the reader answers with what comes back. Queries change nothing, so their order does not matter, and
one storage phase serves every k. Phase 3: a judge finds the stage at which each question failed. Every step is journaled,
and results are read from the journals alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import without_login
from epbench.files.text import markdown_text
from epbench.files.writing import write_text
from epbench.hub.rows import dataset_revision, part_of
from epbench.journals.answers import ANSWERS, ask, fingerprint_of
from epbench.journals.journal import read_journal
from epbench.judges.model import name_without_weights
from epbench.judges.protocol import is_free
from epbench.judges.replies import failure_of, with_failures
from epbench.memfail.context import requests as context
from epbench.memfail.context.requests import ConfigRun, Prompts, Setting, queries_of, records_of, requests_of
from epbench.memfail.dataset.load import Fact, Loaded, Question, QuestionRecord, configs_named, load_memfail
from epbench.memfail.judging.diagnosis import Outcome, diagnose, leave_one_out, left_out_checks
from epbench.memfail.judging.lexical import Check, Judge, every_check
from epbench.memfail.judging.memories import Memories
from epbench.memfail.scores.scoring import finish
from epbench.memfail.scores.tables import markdown_table, with_baseline
from epbench.memories.between import told_after, told_after_in
from epbench.memories.load import load_memory
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import Budget, Recall, fit, price_of, read_recall, shown_of
from epbench.memories.session import Conversation, fill_and_ask
from epbench.models.estimate import check_window, estimate
from epbench.models.protocol import Model, Request, engine_of, variant_of, weights_of
from epbench.progress import Progress, no_progress
from epbench.reports.comparison import after_tokens
from epbench.runs.folder import check_judge, note_asked, note_judge, open_run
from epbench.runs.usage import commonest, token_usage


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is to be run on one dataset.

    Attributes:
        dataset: Name on the Hub, or a folder.
        configs: Some of `KNOWN`; `all` stands for those of the paper.
        system: The memory system, as `load_memory` takes it.
        system_options: What `load_memory` takes beside the name, the gold memories and the limits.
        model: The reader.
        judge: Judge of memories and answers.
        prompts: Prompt pack of the reader.
        setting: How each config is run.
        limit: The number of questions of each config; None for all.
        shard: `i/n` for the i-th of n parts: of the rows of each config if every row has a store of its own, otherwise of
            the configs. None for the whole run.
        base_url: URL of the reader's endpoint, which is part of the run's identity; may be empty.
    """

    dataset: str
    configs: Sequence[str]
    system: str
    system_options: Mapping[str, Any] = field(default_factory=dict)
    model: Model
    judge: Judge
    prompts: Prompts
    setting: Setting
    limit: int | None = None
    shard: str | None = None
    base_url: str = ""

    @property
    def row_shard(self) -> str | None:
        """The shard if it is one of rows; None if all rows of a config are run."""
        return self.shard if self.setting.isolate else None


@dataclass(frozen=True)
class Prepared:
    """An evaluation whose dataset has been read and whose memory system has been found.

    Attributes:
        evaluation: What is to be run.
        system: The memory system; no instance of it is made yet.
        configs: Each config that is run, as it was read and as it is run.
        several: Whether each config gets a folder of its own.
        warnings: Empty: whether prompts fit the reader's window shows when the memory system has returned something.
    """

    evaluation: Evaluation
    system: SystemSpec
    configs: list[tuple[Loaded, ConfigRun]]
    several: bool
    warnings: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The run's name in tables."""
        inside = f" ({self.system.inner_model})" if self.system.inner_model else ""
        name = f"{self.system.name}{' (baseline)' if self.system.baseline else ''}{inside}"
        return f"{name}, {self.evaluation.model.name}{after_tokens(self.evaluation.setting.between)}"

    @property
    def plan(self) -> list[str]:
        """The estimated calls and tokens of each config, in lines; they are computed when they are read.

        Raises:
            BadInput: A check does not fit the judge's window.
        """
        lines = []
        for data, config in self.configs:
            lines += [f"{data.config}:", *(f"  {line}" for line in plan_lines(config, self.evaluation.judge))]
        return lines


@dataclass(frozen=True)
class Evaluated:
    """The results of a run.

    Attributes:
        scores: The scores of each config, as tables take them, by its label.
        failures: Why each question at each k failed; None for one that did not.
        warnings: What readers of the scores must know.
        notes: What else is worth saying, such as how many questions failed.
    """

    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: list[str | None] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def prepare(evaluation: Evaluation) -> Prepared:
    """Read the dataset and find the memory system. Nothing is stored or asked, and no weights are loaded.

    Raises:
        BadInput: The dataset, a config, the shard or the system does not exist, or a number of the setting is out of range.
    """
    setting = evaluation.setting
    setting.check()
    names = configs_named(evaluation.configs)
    shard = names
    if evaluation.shard is not None and not setting.isolate:
        number, n = part_of(evaluation.shard)
        if n > len(names):
            raise BadInput(
                f"--shard {evaluation.shard}: all rows of a config have one common store, so only whole configs can be "
                f"split, and there are {len(names)}; with --isolate each row has a store of its own, and rows can be split"
            )
        shard = names[number - 1 :: n]
    loaded, configs = [load_memfail(evaluation.dataset, name) for name in shard], []
    gold = context.gold_of([question for data in loaded for question in data.questions], setting)
    system = load_memory(evaluation.system, gold, limits=setting.limits, **evaluation.system_options)
    for data in loaded:
        asked = context.asked_of(data.questions, evaluation.limit, evaluation.row_shard)
        whole = context.asked_of(data.questions, evaluation.limit)
        config = ConfigRun(data.facts, asked, system, evaluation.model, evaluation.prompts, setting, whole)
        configs.append((data, config))
    return Prepared(evaluation, system, configs, len(names) > 1)


def run(prepared: Prepared, out: Path, *, progress: Progress = no_progress) -> Evaluated:
    """Run each config in its folder, or resume it, and write its results.

    Args:
        prepared: What `prepare` returns.
        out: The folder of the run; with several configs it holds one folder for each, and table.md.
        progress: Shows a progress bar.

    Raises:
        BadInput: A folder holds another run, or one with another judge, the system cannot be created, or a prompt does not
            fit the reader's window.
    """
    if prepared.several and (out / "run.json").exists():
        raise BadInput(f"{out} holds the run of one config; choose another --out for several of them")
    done = Evaluated()
    for data, config in prepared.configs:
        _run_config(prepared, data, config, out / data.config if prepared.several else out, done, progress)
    if prepared.several:
        write_text(out / "table.md", f"{markdown_text(prepared.label)}\n\n{markdown_table(done.scores)}")
    return done


def _run_config(
    prepared: Prepared, data: Loaded, config: ConfigRun, out: Path, done: Evaluated, progress: Progress
) -> None:
    """Do the three phases for one config, and add what comes of them to `done`."""
    evaluation, judge, identity = prepared.evaluation, prepared.evaluation.judge, _identity(prepared, data)
    revision = dataset_revision(evaluation.dataset, data.config)
    about = {"dataset": evaluation.dataset, "dataset_revision": revision, "label": prepared.label}
    with open_run(out, identity, about | engine_of(config.model) | variant_of(config.model)) as folder:
        try:
            check_judge(folder, judge)
        except BadInput as error:
            raise BadInput(f"{error}; give another --out for another judge") from None
        output = store_and_answer(folder, config, progress)
        note_asked(folder, limit=evaluation.limit, shard=evaluation.row_shard)
        outcomes, scores = judge_and_score(folder, output, judge, prepared.label, progress)
        note_judge(folder, judge)
    failures = [outcome.failure for outcome in outcomes]
    done.failures.extend(failures)
    done.warnings.extend(f"{data.config}: {warning}" for warning in scores["warnings"])
    if looped := output.usage["answering"]["looped"]:
        done.notes.append(f"{data.config}: {looped} answers went in circles and were ended")
    if scores["n_failed"]:
        done.notes.append(
            f"{data.config}: {scores['n_failed']} questions failed, which count neither as right nor as wrong"
            f"{commonest(reason for reason in failures if reason)}"
        )
    label = f"{prepared.label} ({data.config})" if prepared.several else prepared.label
    done.scores[label] = with_baseline(scores, {"identity": identity})


def _identity(prepared: Prepared, data: Loaded) -> Mapping[str, Any]:
    """What tells this run from another one: a folder is resumed only by a run of the same identity."""
    evaluation, system, setting = prepared.evaluation, prepared.system, prepared.evaluation.setting
    return {
        "config": data.config,
        "fingerprint": data.fingerprint,
        "benchmark": "memfail",
        "system": system.name,
        "control": system.baseline,
        **system.identity,
        "model": evaluation.model.name,
        "k": list(setting.ks),
        "isolate": setting.isolate,
        "published_query": setting.published_query,
        "with_replies": setting.replies,
        "units_per_conversation": setting.units_per_conversation,
        "seed": setting.seed,
        "prompts": fingerprint_of(evaluation.prompts),
        "max_tokens": setting.sampling.max_tokens,
        "base_url": without_login(evaluation.base_url),
        **({} if setting.memory_tokens is None else {"memory_tokens": setting.memory_tokens}),
        **weights_of(evaluation.model),
        **({"between": setting.between} if setting.between else {}),
    }


def plan_lines(config: ConfigRun, judge: Judge) -> list[str]:
    """Return the estimated calls and tokens of one config, a line for each role; BadInput if a check is too long."""
    questions, system, model, setting = config.questions, config.system, config.model, config.setting
    facts = context.facts_told(config.facts, questions, setting)
    lines = [f"{len(facts):,} facts to tell {system.name}, {len(questions) * len(setting.ks):,} retrievals"]
    if setting.between:
        lines.append(f"{setting.between:,} tokens of unrelated text to tell each store last")
    if system.inner_model:
        lines.append(
            f"what {system.name} asks of {system.inner_model} comes on top; a finished run's usage.json tells it"
        )
    requests, checks = in_advance(config)
    estimates = {f"reader {model.name}": estimate(requests, model)}
    if setting.replies:
        turns = [{"role": "user", "content": fact.text} for fact in facts]
        replies = [config.prompts.reply_to("", [turn], setting.sampling) for turn in turns]
        estimates[f"reader {model.name}, replies"] = estimate(replies, model)
    judge_name = name_without_weights(judge)
    if is_free(judge):
        lines.append(f"judge {judge_name}: no tokens")
    else:
        with_stores = [(question, setting.store_of(question.row)) for question in questions]
        for pair in left_out_checks(with_stores, context.by_store(facts, setting)):
            checks += [check for check in pair if check.memories]
        if judging := judge.plan(checks):
            estimates[f"judge {judge_name}"] = judging
    return lines + [f"{role}: {line}" for role, cost in estimates.items() for line in cost.lines()]


def in_advance(config: ConfigRun) -> tuple[list[Request], list[Check]]:
    """Return requests to the reader like those of a run, and the most that its judge can be asked, as if no stage failed.

    A system is taken to store every fact word for word. One that shortens what it stores costs the reader and the judge less;
    one that adds to it costs them more.
    """
    setting, system, after = config.setting, config.system, context.between_of(config)
    held = {
        name: Memories(() if system.may_be_empty else [*(fact.text for fact in facts), *after])
        for name, facts in context.by_store(config.facts, setting).items()
    }
    records = []
    for question in config.questions:
        store = setting.store_of(question.row)
        for k in setting.ks:
            memories: tuple[str, ...] = held[store]
            if system.knows_gold:
                memories = tuple(memory.text for memory in question.gold)
            elif not system.may_be_empty and not system.beyond_k:
                # A search returns other memories for other rows, because equal ones would look like a shared prefix.
                start = memories.index(question.gold[0].text)
                memories = (memories[start : start + k] + memories[:start])[:k]
            records.append(QuestionRecord(question, k, store, memories, f"{k}"))
    in_order = sorted(records, key=lambda record: setting.ks.index(record.k))
    requests = requests_of(in_order, config.prompts, setting.sampling)
    return [*requests.values()], every_check(records, held)


@dataclass(frozen=True)
class RunOutput:
    """What phases 1 and 2 produced, as the judge needs it."""

    records: list[QuestionRecord]  # one for each question at each k
    stores: dict[str, list[str]]  # all memories of each store after storing, by its name
    warnings: list[str]  # what readers of the results must know
    usage: dict[str, Any]  # the time and tokens of each stage
    told: dict[str, list[Fact]]  # the facts that each store was told, by its name


def store_and_answer(folder: Path, config: ConfigRun, progress: Progress) -> RunOutput:
    """Do phases 1 and 2 for one config, or resume them where they were stopped, in the folder of the run."""
    conversations = told_after(context.told_in(folder, config, progress), context.between_of(config))
    recall, _ = remember(folder, conversations, config.questions, config.system, config.setting, progress)
    queries = queries_of(config.questions, config.setting)
    budget = Budget(config.model, config.setting.memory_tokens)
    recall = replace(recall, found=fit(folder, recall.found, queries, budget))
    records = records_of(config.questions, queries, recall)
    requests = requests_of(records, config.prompts, config.setting.sampling)
    warning = check_window([*requests.values()], config.model, {}) if requests else None
    ask(folder / ANSWERS, [*requests.values()], config.model, progress, failure_of=failure_of)
    output = _output(folder, config, recall, records)
    return replace(output, warnings=[*output.warnings, *([warning] if warning else [])])


def remember(
    folder: Path,
    conversations: Sequence[Conversation],
    questions: Sequence[Question],
    system: SystemSpec,
    setting: Setting,
    progress: Progress,
) -> tuple[Recall, list[QuestionRecord]]:
    """Tell a memory system the conversations, and ask it for what the questions need, at each k; see `fill_and_ask`."""
    queries = queries_of(questions, setting)
    fill_and_ask(folder, system, conversations, queries, limits=setting.limits, progress=progress)
    recall = read_recall(folder, system, conversations, queries)
    return recall, records_of(questions, queries, recall)


def read_output(folder: Path, config: ConfigRun) -> RunOutput:
    """Read what `store_and_answer` produced from the journals alone.

    No system is started, and no question is put to the reader; it is asked for replies that the journal does not have.
    """
    queries = queries_of(config.questions, config.setting)
    told = [*context.told_in(folder, config, no_progress), *told_after_in(folder)]
    recall = read_recall(folder, config.system, told, queries)
    recall = replace(recall, found=shown_of(folder, recall.found))
    return _output(folder, config, recall, records_of(config.questions, queries, recall))


def _output(folder: Path, config: ConfigRun, recall: Recall, records: Sequence[QuestionRecord]) -> RunOutput:
    """Put the journaled answers beside what was retrieved."""
    model, setting = config.model, config.setting
    journal = {record["key"]: record for record in with_failures(read_journal(folder / ANSWERS).values())}
    requests = requests_of(records, config.prompts, setting.sampling)
    unanswered = {"failure": "the reader gave no reply"}
    answers = {id_: journal.get(request.key(model.identity), unanswered) for id_, request in requests.items()}
    answered = [
        replace(record, answer=reply.get("answer", ""), failure=reply.get("failure"))
        if (reply := answers.get(record.id))
        else record
        for record in records
    ]
    usage = recall.usage
    if setting.replies:
        usage["replying"] = token_usage(read_journal(folder / context.REPLIES).values())
    if price := price_of(folder):
        usage["price"] = price
    usage |= {"answering": token_usage(answers.values()), "memory_tokens": _memory_tokens(answered, model)}
    facts = context.by_store(context.facts_told(config.facts, config.questions, setting), setting)
    return RunOutput(answered, recall.stores, recall.warnings, usage, facts)


def _memory_tokens(records: Sequence[QuestionRecord], model: Model) -> dict[str, Any]:
    """By k the mean tokens of what came back, per question and per memory, and the mean number of memories.

    The reader's own tokens are counted; the rule-based reader counts words.
    """
    frame = model.count_tokens(Request("", "", "", ""))[0]

    @cache  # systems that return everything return the same memories for every question
    def count(memories: tuple[str, ...]) -> int:
        return model.count_tokens(Request("", "", "", "\n".join(memories)))[0] - frame

    by_k = {}
    for k in dict.fromkeys(record.k for record in records):
        retrieved = [record.memories for record in records if record.k == k and record.failure is None]
        tokens, returned = sum(map(count, retrieved)), sum(map(len, retrieved))
        by_k[str(k)] = {
            "per_question": tokens / len(retrieved) if retrieved else None,
            "per_memory": tokens / returned if returned else None,
            "returned": returned / len(retrieved) if retrieved else None,
        }
    return by_k


def judge_and_score(
    folder: Path, output: RunOutput, judge: Judge, label: str, progress: Progress
) -> tuple[list[Outcome], dict[str, Any]]:
    """Do phase 3: the judge finds where each question failed, and the scores follow from the journals; see `finish`."""
    outcomes = diagnose(folder, output.records, output.stores, judge, progress)
    left_out = leave_one_out(folder, output.records, output.told, judge, progress)
    usage = output.usage | {"warnings": output.warnings}
    return outcomes, finish(folder, outcomes, output.records, output.stores, label, usage, left_out)
