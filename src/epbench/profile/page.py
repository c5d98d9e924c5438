"""One profile or several: as JSON, CSV and a picture, and on a page whose points lead to the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from epbench.errors import BadInput
from epbench.files.json_files import read_typed, write_json
from epbench.files.text import html_text
from epbench.files.typed import Number, Whole
from epbench.files.writing import write_text
from epbench.profile.dimensions import DIMENSIONS, Measured
from epbench.reports.figures import colour_of, drawing, figure_html, new_figure, svg
from epbench.reports.page import page, pairs
from epbench.reports.tables import Table
from epbench.statistics.estimate import framed, p_text
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "profile.json"


class Score(Struct, frozen=True):
    """A dimension of a profile, as profile.json has it; see `epbench.profile.dimensions`."""

    name: str  # the dimension
    score: Number | None  # its mean; None where questions failed, which leaves `lowest` and `highest`
    low: Number | None  # the lower end of the 95 % interval; None without one
    high: Number | None  # the upper end
    lowest: Number | None  # the score if all failed questions were wrong; None if none failed
    highest: Number | None  # the score if all failed questions were right
    floor: Number  # what an answer that needs no memory scores
    ceiling: Number  # the highest score
    n: Whole  # the number of questions with an outcome
    failed: Whole  # the number of those without
    run: str  # the folder of the run, relative to the profile


class Profile(Struct, frozen=True):
    """The content of profile.json."""

    name: str
    preset: str
    version: Whole
    model: str
    memory: str
    system: str
    judge: str
    dimensions: list[Score]
    missing: dict[str, str]
    cost: dict[str, Number]


def scores_of(found: Sequence[Measured]) -> list[Score]:
    """The dimensions as profile.json has them."""
    return [
        Score(
            one.dimension.name, one.estimate.mean, one.estimate.low, one.estimate.high, one.estimate.lowest,
            one.estimate.highest, one.dimension.floor, 1.0, one.estimate.n or 0, one.estimate.n_failed or 0, one.run,
        )
        for one in found
    ]  # fmt: skip


def read_profile(folder: Path) -> Profile:
    """Read the profile of a folder; BadInput if there is none, or it is damaged."""
    return read_typed(folder / FILE, Profile)


def write_profile(folder: Path, profile: Profile) -> None:
    """Write profile.json, profile.csv, profile.svg and profile.html."""
    write_json(folder / FILE, to_builtins(profile))
    write_overlaid(folder, [profile], {profile.name: ""})


def write_overlaid(
    folder: Path, profiles: Sequence[Profile], places: Mapping[str, str], tested: Table | None = None
) -> None:
    """Write profile.csv, profile.svg and profile.html of one profile or several; see `profile_page`."""
    rows = [
        {**({"profile": profile.name} if len(profiles) > 1 else {}), **row}
        for profile in profiles
        for row in to_builtins(profile.dimensions)
    ]
    write_text(folder / "profile.csv", framed(rows).to_csv(index=False))
    with drawing():
        write_text(folder / "profile.svg", svg(_dots(profiles)))
    write_text(folder / "profile.html", profile_page(profiles, places, tested))


def profile_page(profiles: Sequence[Profile], places: Mapping[str, str], tested: Table | None = None) -> str:
    """The page of one profile, or of several overlaid, with what differs between two (`tested`).

    `places` has, by name of a profile, the address of its folder as seen from the page; empty for the same one.
    """
    with drawing():
        picture = figure_html(_dots(profiles), _CAPTION)
    about = {dimension.name: dimension.about for dimension in DIMENSIONS}
    shown = [score.name for profile in profiles for score in profile.dimensions]
    rows = []
    for name in [dimension.name for dimension in DIMENSIONS if dimension.name in shown]:
        texts = "".join(f'<td class="text">{html_text(text)}</td>' for text in (name, about[name]))
        rows.append(f"<tr>{texts}{''.join(_cell(profile, name, places[profile.name]) for profile in profiles)}</tr>")
    heads = "".join(f"<th>{html_text(profile.name)}</th>" for profile in profiles)
    table = f'<table><tr><th>dimension</th><th class="text">what it is</th>{heads}</tr>{"".join(rows)}</table>'
    first = profiles[0]
    lead = (
        f"What each remembers, in {len(first.dimensions)} dimensions; preset {first.preset}, version {first.version}."
    )
    title = first.name if len(profiles) == 1 else f"{len(profiles)} profiles"
    return page(
        f"Memory profile: {title}",
        f"""<p class="lead">{html_text(lead)}</p>
{picture}
{tested.html() if tested else ""}
{table}
{"".join(_beside(profile) for profile in profiles)}""",
    )


_CAPTION = """The score of each dimension with its 95 % interval, which is too narrow if it is of fewer than ten questions; where
they are too few for one, the score is hollow, or left to the table if there are several profiles. A bar without a point is the
range that failed questions leave open. The dotted tick is the floor: what an answer that needs no memory scores. The ceiling
is 1."""


def _cell(profile: Profile, name: str, place: str) -> str:
    score = next((one for one in profile.dimensions if one.name == name), None)
    if score is None:
        return "<td>–</td>"
    address = "/".join(filter(None, [place, score.run, "report.html"]))
    return f'<td><a href="{html_text(address)}">{html_text(text_of(score))}</a></td>'


def text_of(score: Score) -> str:
    """A score with its interval, such as `0.85 (0.78–0.91)`; a range where questions failed."""
    if score.score is None:
        return f"{score.lowest:.2f} to {score.highest:.2f}" if score.lowest is not None else "–"
    return f"{score.score:.2f}" + (f" ({score.low:.2f}–{score.high:.2f})" if score.low is not None else "")


def _beside(profile: Profile) -> str:
    about = {"model": profile.model, "memory": profile.memory, "system": profile.system, "judge": profile.judge}
    missing = {f"not measured: {part}": why for part, why in profile.missing.items()}
    return f"<h2>{html_text(profile.name)}</h2>{pairs(about | profile.cost | missing)}"


def _dots(profiles: Sequence[Profile]) -> Figure:
    floors = {score.name: score.floor for profile in profiles for score in profile.dimensions}
    names = [one.name for one in DIMENSIONS if one.name in floors]
    figure, axes = new_figure(8, 0.6 + 0.26 * len(names) * (1 + 0.35 * (len(profiles) - 1)))
    for number, profile in enumerate(profiles):
        shift = 0.0 if len(profiles) == 1 else 0.5 * (number / (len(profiles) - 1) - 0.5)
        for score in profile.dimensions:
            at, colour = names.index(score.name) + shift, colour_of(number)
            low, high = (score.low, score.high) if score.score is not None else (score.lowest, score.highest)
            if low is not None and high is not None:
                axes.plot([low, high], [at, at], color=colour, linewidth=1.5)
            if score.score is not None and (low is not None or len(profiles) == 1):
                filled = colour if low is not None else "none"
                axes.plot([score.score], [at], "os^Dv"[number % 5], color=colour, markersize=5, markerfacecolor=filled)
        axes.plot([], [], "os^Dv"[number % 5], color=colour_of(number), label=profile.name)
    for place, name in enumerate(names):
        axes.plot([floors[name]] * 2, [place - 0.35, place + 0.35], ":", color="#555", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.4, -0.6), xlabel="score")
    axes.grid(axis="x", color="#ddd", linewidth=0.6)
    if len(profiles) > 1:
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


_Z = NormalDist().inv_cdf(0.975)


def differences(first: Profile, second: Profile) -> Table:
    """Which dimensions of two profiles differ, by the intervals of both, with Holm's correction for their number.

    The test is Student's, with a degree of freedom less than the profile with fewer questions has: intervals of few
    questions are too narrow, and a test by the normal distribution would find a difference between equals in every
    fifth pair of three questions each. BadInput if the profiles are of other presets or versions.
    """
    for name in ("preset", "version"):
        if getattr(first, name) != getattr(second, name):
            raise BadInput(
                f"{first.name} has {name} {getattr(first, name)}, {second.name} has {getattr(second, name)}; only profiles of "
                "one preset and version compare"
            )
    from scipy.stats import t as student

    others = {score.name: score for score in second.dimensions}
    both = [(one, others[one.name]) for one in first.dimensions if one.name in others]
    gaps: dict[str, float] = {}
    tested: dict[str, float] = {}  # p-values
    for one, other in both:
        ends = (one.low, one.high, other.low, other.high)
        if one.score is not None and other.score is not None and None not in ends:
            gaps[one.name] = gap = one.score - other.score
            error = math.hypot(one.high - one.low, other.high - other.low) / (2 * _Z)  # type: ignore[operator]
            if error:
                tested[one.name] = float(2 * student.sf(abs(gap) / error, min(one.n, other.n) - 1))
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    shown = {name: f"{gap:+.2f}" for name, gap in gaps.items()}
    rows = [
        [one.name, text_of(one), text_of(other), shown.get(one.name, "–"), p_text(corrected.get(one.name))]
        for one, other in both
    ]
    notes = [
        "p is of a t-test of the difference by the intervals of both, corrected by Holm for the number of dimensions. The runs "
        "answered the same questions, which this test does not use: `epbench compare` of two runs is sharper."
    ]
    return Table(["dimension", first.name, second.name, "difference", "p, corrected"], rows, notes=notes)
