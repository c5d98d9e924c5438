"""Judge the answers of a run: every verdict is journaled as it arrives, and one answer to one question is judged once.

One folder may hold the verdicts of several judges: they stand in one journal under keys of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, RunFailed
from epbench.hub.rows import Row
from epbench.models.load import Options, load_model
from epbench.models.protocol import Model
from epbench.runs.answers import ANSWERS, Progress
from epbench.runs.folder import write_json
from epbench.runs.journal import Journal, Record, read_journal
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.model import MAX_TOKENS, ModelJudge
from epbench.tulving.judging.prompts import load_judge_prompts
from epbench.tulving.judging.protocol import Judge, JudgeInput, Judgement, PastJudge
from epbench.tulving.scores.results import JUDGEMENTS, judged
from epbench.tulving.scores.run_files import read_judge, read_run
from epbench.tulving.scores.scoring import ScoredAnswer

CALLS = "judge_calls.jsonl"
PUBLISHED = "published"
"""Instead of the prompt hash of a published judge: its verdicts stand under the keys of the answers."""
_WORD = "word "  # about a token


def choose_judge(
    name: str,
    options: Options | None = None,
    *,
    prompts: Path | None = None,
    calls: Path | None = None,
    max_tokens: int = MAX_TOKENS,
    reader: Model | None = None,
) -> Judge:
    """The judge of that name; a model's weights are not loaded yet.

    Args:
        name: `lexical`, or a model as `load_model` takes it.
        options: of the model.
        prompts: another prompt pack; see data/judging.toml.
        calls: see `ModelJudge`.
        max_tokens: of one reply of a model, at least 1.
        reader: serves as judge too if it has that name, so that its weights are loaded once.

    Raises:
        BadInput: there is no such model, what it needs is not installed, or the pack is no pack.
    """
    if name == "lexical":
        if prompts is not None:
            raise BadInput(f"--judge-prompts {prompts}: the judge lexical takes no prompts")
        return LexicalJudge()
    if max_tokens < 1:
        raise BadInput(f"--judge-max-tokens {max_tokens}: at least 1 expected")
    pack = load_judge_prompts(prompts)
    if reader is None or reader.name != name:
        try:
            reader = load_model(name, options)
        except BadInput as error:
            raise BadInput(f"judge: {error}") from None
    return ModelJudge(reader, pack, calls=calls, max_tokens=max_tokens)


def judge_input(row: Row, answer: str) -> JudgeInput:
    """The answer to a question of the dataset as a judge gets it."""
    return JudgeInput(row["id"], row["question"], row["trace"], row["get"], tuple(row["answer"]), answer)


def expected_inputs(rows: Sequence[Row], max_tokens: int, repeats: int = 1) -> list[JudgeInput]:
    """Cases as long as they can become, for a plan before there are answers."""
    return [judge_input(row, _WORD * max_tokens) for row in rows for _ in range(repeats)]


def open_inputs(folder: Path, rows: Sequence[Row], judge: Judge) -> list[JudgeInput]:
    """The journaled answers to these rows that the judge has yet to judge, each once."""
    journal = read_journal(folder / JUDGEMENTS)
    cases = {case.key(judge): case for _, case in given_answers(folder, rows)}
    return [case for key, case in cases.items() if journal.get(key, {"failure": "open"}).get("failure") is not None]


def judge_answers(folder: Path, rows: Sequence[Row], judge: Judge, progress: Progress) -> list[ScoredAnswer]:
    """Verdicts on all journaled answers to these rows; those that the journal has are not asked for again."""
    todo = {case.key(judge): case for case in open_inputs(folder, rows, judge)}
    journal = Journal(folder / JUDGEMENTS)
    judgements = judge.judge(list(todo.values()))
    with closing(judgements):
        for judgement in progress(judgements, "verdicts", len(todo)):
            _add(journal, todo[judgement.key].id, judge, judgement)
    journal.close()
    return read_verdicts(folder, rows, judge)


def read_verdicts(folder: Path, rows: Sequence[Row], judge: Judge) -> list[ScoredAnswer]:
    """What the journals hold of a judge's verdicts on the answers to these rows, in the order of the rows."""
    by_id = {row["id"]: row for row in rows}
    return [judged(by_id[case.id], verdict) for case, verdict in verdict_records(folder, rows, judge)]


def verdict_records(folder: Path, rows: Sequence[Row], judge: Judge) -> list[tuple[JudgeInput, Record]]:
    """The same as the journal has it: items, scores, order and reason of each case that has a verdict.

    Raises:
        BadInput: a verdict has not one score for each true item.
    """
    journal = read_journal(folder / JUDGEMENTS)
    found = []
    for answer, case in given_answers(folder, rows):
        verdict = journal.get(answer["key"] if judge.prompt_hash == PUBLISHED else case.key(judge))
        if verdict is not None and verdict.get("failure") is None:
            n, expected = len(verdict.get("scores", ())), len(case.truth)
            if n != expected:
                raise BadInput(
                    f"{folder / JUDGEMENTS}, record {verdict['key']!r}, field 'scores': expected {expected} numbers, one "
                    f"for each true item of question {case.id}, found {n}"
                )
            scores = [min(1.0, max(0.0, score)) for score in verdict["scores"]]  # a published judge may go beyond
            found.append((case, verdict | {"scores": scores}))
    return found


def given_answers(folder: Path, rows: Sequence[Row]) -> list[tuple[Record, JudgeInput]]:
    """The journaled answers to these rows, in the order of the rows and of the repeats; failures are none.

    Of several answers to one repeat of a question the last one counts: a memory system whose memories have changed is
    asked anew, under another key.
    """
    place = {row["id"]: i for i, row in enumerate(rows)}
    records = read_journal(folder / ANSWERS).values()
    given = {
        (place[record["id"]], record["repeat"]): record
        for record in records
        if record.get("failure") is None and record["id"] in place
    }
    return [(record, judge_input(rows[i], record["answer"])) for (i, _), record in sorted(given.items())]


def judge_failures(folder: Path, judge: Judge) -> dict[str, int]:
    """How often the judge has failed, and is to be asked again, by reason."""
    records = read_journal(folder / JUDGEMENTS).values()
    own = [r for r in records if (r["judge"], r.get("prompt_hash")) == (judge.name, judge.prompt_hash)]
    return dict(Counter(r["failure"] for r in own if r.get("failure") is not None).most_common())


def _add(journal: Journal, id_: str, judge: Judge, judgement: Judgement) -> None:
    about: dict[str, Any] = {"id": id_, "judge": judge.name, "prompt_hash": judge.prompt_hash}
    if judgement.raw:
        about["raw"] = list(judgement.raw)
    if any(astuple(judgement.usage)):
        about["usage"] = asdict(judgement.usage)
    if judgement.verdict is None:
        about["failure"] = judgement.failure
    else:
        about |= {name: _plain(value) for name, value in asdict(judgement.verdict).items()}
    journal.add(judgement.key, **about)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def plan_lines(judge: Judge, cases: Sequence[JudgeInput]) -> list[str]:
    """What judging these cases costs at most, one line per number.

    Raises:
        BadInput: a case does not fit the judge's window.
    """
    plan = judge.plan(cases)
    name = judge.model.name if isinstance(judge, ModelJudge) else judge.name  # a plan reads no weights
    who = f"judge {name}: {len(cases):,} verdicts"
    if plan is None:
        return [f"{who}, no tokens"]
    first, *others = (line.removeprefix("at most ") for line in plan.lines())
    first += ", and one more for a reply that is unusable"
    return [f"{who}, at most {first}", *(f"judge: at most {line}" for line in others)]


def judge_of_scores(folder: Path) -> PastJudge | None:
    """The judge whom a run's scores are of; None where it has no scores, or they name no judge."""
    judge = read_judge(folder)
    return PastJudge(judge["name"], judge["prompt_hash"] or PUBLISHED) if judge else None


def check_judge(folder: Path, judge: Judge) -> None:
    """Refuse to replace the scores of one judge by those of another, unless --rejudge asks for it.

    A process that was killed between the scores of a new judge and its name in run.json has left two names. Either judge
    is accepted then, and scores the run anew, which leaves one.

    Raises:
        BadInput: the run has scores by another judge.
    """
    noted: Mapping[str, str] | None = read_run(folder).get("judge")
    judges = [PastJudge(noted["name"], noted["prompt_hash"]) if noted else None, judge_of_scores(folder)]
    found = [other for other in judges if other is not None]
    if found and PastJudge(judge.name, judge.prompt_hash) not in found:
        raise BadInput(
            f"{folder / 'run.json'}: judged by {found[0].name} ({found[0].prompt_hash}), now {judge.name} "
            f"({judge.prompt_hash}) is given; --rejudge has the answers judged by another judge"
        )


def check_all_judged(folder: Path, rows: Sequence[Row], verdicts: Sequence[ScoredAnswer], judge: Judge) -> None:
    """Refuse to replace the scores of one judge by those of another who has not judged every answer.

    Args:
        folder: of the run.
        rows: the questions that the run asked.
        verdicts: of this judge on the answers to them.
        judge: who gave them.

    Raises:
        RunFailed: a verdict is missing, and the run has scores by another judge. The message says how many.
    """
    n_answers, standing = len(given_answers(folder, rows)), judge_of_scores(folder)
    missing = n_answers - len(verdicts)
    if missing and standing not in (None, PastJudge(judge.name, judge.prompt_hash)):
        raise RunFailed(
            f"judge {judge.name} has given no verdict on {missing} of {n_answers} answers; the scores in {folder} stay "
            f"those of judge {standing.name}; the same command asks for the missing verdicts"
        )


def note_judge(folder: Path, judge: Judge, **more: Any) -> None:
    """Write into run.json whom the run's scores are of, and what else must be known of it.

    Call it when the scores are written: a judge that gave none must not be held to be the run's judge.
    """
    note(folder, judge={"name": judge.name, "prompt_hash": judge.prompt_hash}, **more)


def note(folder: Path, **more: Any) -> None:
    """Write into run.json what must be known to judge the run again."""
    write_json(folder / "run.json", read_run(folder) | more)
