"""Memory systems of which it is certain what becomes of a fact that was corrected or withdrawn.

Each is told the messages of a row, keeps values by fact, and answers by what it holds: the value, or that it does not know.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from epbench.memfail.dataset.load import Question, QuestionRecord, questions_of
from epbench.memfail.dataset.revision import FACTS, asked

Row = Mapping[str, Any]
UNKNOWN = "I do not know that."


class Careful:
    """Does with every fact what it was told to do, and remembers what was said first."""

    expected: ClassVar[Mapping[str, str]] = {}  # by group of the question, where it is not correct

    def __init__(self, row: Row) -> None:
        self.row, self.now, self.first = row, dict[int, str](), dict[int, str]()
        self.log: list[tuple[int, str]] = []
        for said in row["statements"]:
            for number in said["facts"]:
                self.hear(said["act"], number)

    def hear(self, act: str, number: int) -> None:
        fact = self.row["facts"][number]
        if act == "withdraws":
            self.forget(number)
        elif act == "corrects":
            self.correct(number, fact["now"])
        else:
            self.now[number] = fact["first"]
            self.first.setdefault(number, fact["first"])
            self.log.append((number, fact["first"]))

    def correct(self, number: int, value: str) -> None:
        self.now[number] = value

    def forget(self, number: int) -> None:
        self.now.pop(number, None)
        self.first.pop(number, None)

    def memories(self) -> list[str]:
        held = {(number, value) for values in (self.now, self.first) for number, value in values.items()}
        return [f"{self.row['facts'][n]['subject']}, {self.row['facts'][n]['topic']}: {v}" for n, v in sorted(held)]

    def answer(self, kind: str, number: int) -> str:
        return (self.first if kind == "first" else self.now).get(number, UNKNOWN)

    def label(self, kind: str, number: int) -> str:
        """The label that its answer to a question deserves."""
        group = "said first" if kind == "first" else FACTS[number][2]
        return self.expected.get(group, "correct")


class NeverForgets(Careful):
    """Keeps whatever it heard first, and takes no notice of corrections and withdrawals."""

    expected: ClassVar = {"corrected": "stale", "withdrawn": "resurrected"}

    def correct(self, number: int, value: str) -> None: ...

    def forget(self, number: int) -> None: ...


class ForgetsThePerson(Careful):
    """Forgets everything about somebody when it is to forget one thing."""

    expected: ClassVar = dict.fromkeys(("corrected", "said first", "withdrawn", "restated", "kept"), "lost_with_it")

    def forget(self, number: int) -> None:
        for other, (subject, *_) in enumerate(FACTS):
            if subject == FACTS[number][0]:
                super().forget(other)


class ForgetsTheTopic(Careful):
    """Forgets what it knows of anybody when it is to forget it of one."""

    expected: ClassVar = dict.fromkeys(("withdrawn", "restated", "kept"), "lost_with_it")

    def forget(self, number: int) -> None:
        for other, (_, topic, _) in enumerate(FACTS):
            if topic == FACTS[number][1]:
                super().forget(other)

    def label(self, kind: str, number: int) -> str:
        return "lost_with_it" if FACTS[number][1] == 4 else super().label(kind, number)


class Resurrects(Careful):
    """Forgets, and has everything again from its log when anything else is told."""

    expected: ClassVar = {"withdrawn": "resurrected"}

    def hear(self, act: str, number: int) -> None:
        super().hear(act, number)
        if act == "tells again":
            for one, value in self.log:
                self.now.setdefault(one, value)
                self.first.setdefault(one, value)


class NeverLearnsAgain(Careful):
    """Never takes up again what it was once told to forget."""

    expected: ClassVar = {"told again": "storage_error"}

    def __init__(self, row: Row) -> None:
        self.blocked: set[int] = set()
        super().__init__(row)

    def forget(self, number: int) -> None:
        super().forget(number)
        self.blocked.add(number)

    def hear(self, act: str, number: int) -> None:
        if number not in self.blocked:
            super().hear(act, number)


class Empty(Careful):
    """Stores nothing."""

    expected: ClassVar = dict.fromkeys(
        ("corrected", "said first", "withdrawn", "restated", "told again", "kept", "untouched"), "storage_error"
    )

    def hear(self, act: str, number: int) -> None: ...


PLANTED = (Careful, NeverForgets, ForgetsThePerson, ForgetsTheTopic, Resurrects, NeverLearnsAgain, Empty)


def records_of(system: type[Careful], rows: list[Row]) -> tuple[list[QuestionRecord], dict[str, list[str]], list[str]]:
    """What a system did on rows, each with a store of its own: its records, its stores, and the labels that it deserves."""
    records, stores, labels = [], {}, []
    for row in rows:
        held = system(row)
        stores[row["id"]] = held.memories()
        for question, (kind, number) in zip(questions_of("revision", [row]), asked(), strict=True):
            records.append(_record(question, held, kind, number))
            labels.append(held.label(kind, number))
    return records, stores, labels


def _record(question: Question, held: Careful, kind: str, number: int) -> QuestionRecord:
    store = question.row
    return QuestionRecord(question, 5, store, tuple(held.memories()), held.answer(kind, number))
