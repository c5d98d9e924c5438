"""Judges that know the made answers, and are wrong by design."""

from collections.abc import Callable

from epbench.draws import RandomStream
from epbench.tulving.calibration.answers import MadeAnswer
from epbench.tulving.judging.protocol import Judgement, Verdict

Change = Callable[[MadeAnswer, Verdict], Verdict | None]


def truly(made: MadeAnswer) -> Verdict:
    """What is true of an answer."""
    order = made.order or [item for item, score in made.decisions.items() if score]
    return Verdict([f"item {i}" for i in range(made.n_items)], made.scores, order, "known")


class MadeJudge:
    """The true verdicts, changed; None is a failure. An answer that was not made fails too."""

    def __init__(self, made, change: Change = lambda made, true: true, name="made", prompt_hash="p1"):
        self.made = {answer.case.answer + answer.case.question: answer for answer in made}
        self.change, self.name, self.prompt_hash = change, name, prompt_hash
        self.asked = 0

    def plan(self, cases):
        return None

    def judge(self, cases):
        for case in cases:
            self.asked += 1
            made = self.made.get(case.answer + case.question)
            verdict = self.change(made, truly(made)) if made else None
            yield Judgement(case.key(self), verdict, None if verdict else "no reply")


def always_one(made, true):
    """Finds everything that is true, whatever is said, and takes it for what the answer lists."""
    return Verdict(made.case.truth or ("something",), [1.0] * len(true.scores), made.case.truth, "")


def always_zero(made, true):
    return Verdict([], [0.0] * len(true.scores), [], "")


def ignores_order(made, true):
    return Verdict(true.items, true.scores, list(dict.fromkeys(made.case.truth)), "")


def knows_no_half(made, true):
    return Verdict(true.items, [float(score > 0) for score in true.scores], true.order, "")


def lists_only_what_is_true(made, true):
    return Verdict(true.items[: len(true.items) - made.n_false], true.scores, true.order, "")


def errs(miss, pass_, seed=0):
    """Misses what is there with one probability, and credits what is not with another; nothing true is like an item."""

    def change(made, true):
        draws = RandomStream("errs", seed, made.case.question, made.case.answer)
        if not made.case.truth:
            credited = draws.unit() >= miss if made.n_items == 0 else draws.unit() < pass_
            return Verdict([] if credited else ["something"], [], [], "")
        found = {
            item: draws.unit() >= miss if score else draws.unit() < pass_ for item, score in made.decisions.items()
        }
        return Verdict(made.case.truth, [float(found[item]) for item in made.case.truth], true.order, "")

    return change
