"""How far the labels can be trusted: would a judge miss a needed fact that is absent?

Each needed fact is left out of a store that has everything else word for word. A judge that still finds it, stored and
faithful, would let a memory system pass that has lost it: where facts share their names and words, absence goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epbench.draws import RandomStream
from epbench.journals.journal import Journal
from epbench.judges.protocol import JUDGEMENTS, is_free
from epbench.memfail.dataset.load import Fact, Question, QuestionRecord
from epbench.memfail.judging.diagnosis import Verdicts
from epbench.memfail.judging.lexical import Check, Judge
from epbench.memfail.judging.memories import Memories
from epbench.progress import Progress

MOST = 50  # units that a judge who costs something is asked about
MOST_BY_RULES = 1000  # units that a judge by rules is asked about; the published tables have at most 350
TOO_MANY = 0.05  # share of units from which on readers are warned


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How often the absence of a needed fact is noticed."""

    n: int  # units that the judge still calls stored and faithful
    misplaced: int  # further units that it calls stored, but with a lost detail: an error of the wrong stage
    of: int  # units on which it gave verdicts

    def as_dict(self) -> dict[str, Any]:
        """The counts, and the share of unnoticed units; None without units."""
        return asdict(self) | {"share": self.n / self.of if self.of else None}

    def warning(self) -> str | None:
        """What readers must know if more than `TOO_MANY` of the units are not missed at the right stage."""
        if self.n + self.misplaced <= TOO_MANY * self.of:
            return None
        return (
            f"if a needed fact were absent, the judge would not notice it for {self.n} of {self.of}, and take it for a lost "
            f"detail for {self.misplaced}, because other facts have the same names and words: success is too high, and "
            f"storage errors are too few"
        )


def leave_one_out(
    folder: Path,
    records: Sequence[QuestionRecord],
    told: Mapping[str, Sequence[Fact]],
    judge: Judge,
    progress: Progress,
) -> LeftOut:
    """Have a judge look for each needed fact where it is not.

    A judge by rules looks for at most `MOST_BY_RULES`, one that costs something for `MOST`, always the same ones. The
    verdicts are journaled beside all others. Of the records only the questions and the names of their stores are used;
    `told` is what the system was told for each store.
    """
    asked = {record.question.id: (record.question, record.store) for record in records}
    checks = left_out_checks(asked.values(), told, MOST_BY_RULES if is_free(judge) else MOST)
    with closing(Journal(folder / JUDGEMENTS)) as journal:
        verdicts = Verdicts(journal, judge, progress, left_out=True)
        verdicts.ask([stored for stored, _ in checks], "verdicts without the fact")
        verdicts.ask([kept for stored, kept in checks if verdicts.of(stored)], "verdicts without the fact")
        pairs = [(verdicts.of(stored), verdicts.of(kept) if verdicts.of(stored) else False) for stored, kept in checks]
    judged = [(stored, kept) for stored, kept in pairs if stored is not None and kept is not None]
    unnoticed = sum(kept for _, kept in judged)
    return LeftOut(unnoticed, sum(stored for stored, _ in judged) - unnoticed, len(judged))


def left_out_checks(
    asked: Iterable[tuple[Question, str]], told: Mapping[str, Sequence[Fact]], most: int = MOST
) -> list[tuple[Check, Check]]:
    """For each needed unit, whether it is stored and whether it is faithful, where everything is stored but its fact.

    A unit is a fact with what identifies it and what must be kept of it, so that an essay may be several. If there are more
    than `most`, so many are drawn with a fixed seed. The questions come each with the name of its store.
    """
    units = {
        (store, gold.fact, gold.link, gold.detail): (question, gold, store)
        for question, store in asked
        for gold in question.gold
    }
    if len(drawn := list(units.values())) > most:
        drawn = RandomStream("left out", 0).sample(drawn, most)
    held = {store: Memories(fact.text for fact in told[store]) for store in dict.fromkeys(store for *_, store in drawn)}
    places = {store: {fact.id: place for place, fact in enumerate(told[store])} for store in held}
    checks = []
    for question, gold, store in drawn:
        rest = held[store].without(*(places[store][fact] for fact in (gold.fact, *gold.also)))
        checks.append((Check("storage", question, gold, rest), Check("summary", question, gold, rest)))
    return checks
