"""The figures about trained weights, in the order of the paper (Figures 15 to 20 and Appendix F.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epbench.booksort.paper import inputs
from epbench.booksort.paper.weights import accuracy, differences, log_ratio, perplexity, readout
from epbench.booksort.paper.weights.trainings import Training, by_base, checkpoints, is_measured, part, read_training
from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.exhibits.reported import ReportedRow

_TRAINING = "a training of a model on the books"
_IN_CONTEXT = "Appendix F.5, differences"
_CONTROL = ", and beside it of a control without the books"


def exhibits(given: Sequence[inputs.Training], reported: Sequence[ReportedRow]) -> list[Exhibit | Missing]:
    """All figures about trainings.

    Args:
        given: The trainings; those of which no epoch was measured are left out.
        reported: Numbers of the paper; those of Appendix F are used.
    """
    trainings = [read_training(one.folder, one.label) for one in given if is_measured(one.folder)]
    of_f, of_f5 = ([row for row in reported if row.table == table] for table in ("Appendix F", "Appendix F.5"))
    with_readout = [one for one in trainings if readout.has_readout(one)]
    with_ratio = [one for one in trainings if log_ratio.has_log_ratio(one)]
    in_context = [one for one in trainings if accuracy.asked_in_context(one)]
    measured = f"{_TRAINING}, with measures of its epochs{_CONTROL}"
    made: list[Exhibit | Missing] = []
    made += (
        [readout.figure_15(with_readout)]
        if with_readout
        else [Missing(readout.NAME, readout.TITLE, f"{_TRAINING}, with a read-out from pairs of at least two books")]
    )
    if trainings:
        made += [perplexity.figure_16(trainings, of_f), accuracy.figure_17(trainings)]
    else:
        made.append(Missing(perplexity.NAME, perplexity.TITLE, measured))
        made.append(Missing("Figure 17", "Accuracy without context by epoch", measured))
    made += _tests(by_base(trainings))
    made += (
        [log_ratio.figure_20(with_ratio)]
        if with_ratio
        else [Missing(log_ratio.NAME, log_ratio.TITLE, f"{_TRAINING} whose answers have probabilities")]
    )
    needs = f"{_TRAINING}, whose epochs were also asked in-context"
    made += (
        [accuracy.in_context(in_context, of_f5)]
        if in_context or of_f5
        else [Missing("Appendix F.5", "Accuracy in-context by epoch", needs)]
    )
    return [*made, *_in_context_tests(by_base(in_context))]


def _in_context_tests(groups: Mapping[str, Sequence[Training]]) -> list[Exhibit | Missing]:
    """Whether a training costs accuracy in-context, once for each model of which two checkpoints were asked."""
    runs = {base: checkpoints(group, "sort-in-context") for base, group in groups.items()}
    return [
        differences.figure_18(part(_IN_CONTEXT, base, groups), base, differences.compared(of_base), "in-context")
        for base, of_base in runs.items()
        if len(of_base) > 1
    ]


def _tests(groups: Mapping[str, Sequence[Training]]) -> list[Exhibit | Missing]:
    """Figures 18 and 19, once for each model."""
    accuracies: list[Exhibit | Missing] = []
    ratios: list[Exhibit | Missing] = []
    for base, group in groups.items():
        names = part("Figure 18", base, groups), part("Figure 19", base, groups)
        runs = checkpoints(group)
        if len(runs) < 2:
            needs = f"at least two measured checkpoints of {base}"
            accuracies.append(Missing(names[0], "Do checkpoints differ in accuracy?", needs))
            ratios.append(Missing(names[1], "Do checkpoints differ in their log ratios?", needs))
            continue
        found = differences.compared(runs)
        accuracies.append(differences.figure_18(names[0], base, found))
        needs = f"a training of {base} whose answers have probabilities"
        of_ratio = differences.figure_19(names[1], base, found)
        ratios.append(of_ratio or Missing(names[1], "Do checkpoints differ in their log ratios?", needs))
    if not groups:
        needs = f"{_TRAINING}, with at least two measured checkpoints{_CONTROL}"
        accuracies.append(Missing("Figure 18", "Do checkpoints differ in accuracy?", needs))
        ratios.append(Missing("Figure 19", "Do checkpoints differ in their log ratios?", needs))
    return [*accuracies, *ratios]
