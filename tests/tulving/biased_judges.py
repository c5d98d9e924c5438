"""Judges that know the calibration set, and are wrong by design."""

from collections.abc import Callable

from epbench.judges.protocol import Judgement
from epbench.tulving.calibration.answers import CalibrationAnswer
from epbench.tulving.judging.verdicts import Verdict

Change = Callable[[CalibrationAnswer, Verdict], Verdict | None]


def n_false(answer: CalibrationAnswer) -> int:
    """How many things the answer names that are not true."""
    return answer.n_items - sum(score > 0 for score in answer.decisions.values())


def truly(answer: CalibrationAnswer) -> Verdict:
    """The right verdict on an answer."""
    order = answer.order or [item for item, score in answer.decisions.items() if score]
    return Verdict([f"item {i}" for i in range(answer.n_items)], answer.scores, order, "known")


class BiasedJudge:
    """The right verdicts, changed; None is a failure. An answer outside the calibration set fails too."""

    setup = ""

    def __init__(self, calibration_set, change: Change = lambda answer, true: true, name="made", prompt_hash="p1"):
        self.known = {one.judge_input.answer + one.judge_input.question: one for one in calibration_set}
        self.change, self.name, self.prompt_hash = change, name, prompt_hash
        self.asked = 0

    def plan(self, inputs):
        return None

    def judge(self, inputs, calls=None):
        for judge_input in inputs:
            self.asked += 1
            answer = self.known.get(judge_input.answer + judge_input.question)
            verdict = self.change(answer, truly(answer)) if answer else None
            yield Judgement(judge_input.key(self), verdict, None if verdict else "no reply")


def always_one(answer, true):
    """Finds all true items, whatever the answer says, and says that the answer lists them."""
    return Verdict(
        answer.judge_input.reference or ("something",), [1.0] * len(true.scores), answer.judge_input.reference, ""
    )


def always_zero(answer, true):
    return Verdict([], [0.0] * len(true.scores), [], "")


def ignores_order(answer, true):
    return Verdict(true.items, true.scores, list(dict.fromkeys(answer.judge_input.reference)), "")


def knows_no_half(answer, true):
    return Verdict(true.items, [float(score > 0) for score in true.scores], true.order, "")


def lists_only_what_is_true(answer, true):
    return Verdict(true.items[: len(true.items) - n_false(answer)], true.scores, true.order, "")
