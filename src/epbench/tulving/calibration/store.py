"""Where passports are kept, by judge, for the reports of later runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from epbench.cache import cache_folder
from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.judges.protocol import JudgeIdentity, about_judge, file_name_of, is_free
from epbench.models.load import is_model_name
from epbench.tulving.calibration.answers import make_calibration_set
from epbench.tulving.calibration.passport import SHARES, Passport, make_passport
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.similarity import SimilarityJudge

_log = logging.getLogger(__name__)

_FIGURES = fields(dict.fromkeys(("nothing_true", "something_true"), Number | None))
_PASSPORT = fields(
    {
        **dict.fromkeys(SHARES, Number | None), **{f"{share}_interval": Interval | None for share in SHARES},
        **dict.fromkeys(("f1_when_right", "f1_when_wrong"), _FIGURES), "kinds": list[dict[str, Any]],
        "made_answers": str, **dict.fromkeys(("seed", "n", "failed"), Whole),
    }
)  # fmt: skip


def passport_path(judge: JudgeIdentity) -> Path:
    """Return where a passport is kept: folder `passports` of `$EPBENCH_CACHE`, or of `~/.cache/epbench`."""
    return cache_folder("passports") / f"{file_name_of(judge)}.json"


def store_passport(judge: JudgeIdentity, passport: Passport) -> Path:
    """Keep a passport for the reports of later runs, in place of an older one of the same judge."""
    path = passport_path(judge)
    write_json(path, passport)
    return path


def find_passport(judge: JudgeIdentity) -> Passport | None:
    """Return the stored passport of this judge, with its prompts and setup; a judge that costs nothing gets a new one.

    The new passport is stored if the judge has weights, which take seconds to load.

    A stored file that is not a passport is ignored with a warning.
    """
    path = passport_path(judge)
    if path.is_file():
        try:
            return read_passport(path, judge)
        except BadInput as error:
            _log.warning("%s; the passport is ignored until this judge is checked again", error)
    return _passport_by_rules(judge)


def _passport_by_rules(judge: JudgeIdentity) -> Passport | None:
    """A new passport of a judge that follows rules; None for a model, and for rules that we do not have."""
    if is_model_name(judge.name):  # loading it would import its libraries
        return None
    try:
        rules = load_judge(judge.name)
        if not is_free(rules) or rules.prompt_hash != judge.prompt_hash:
            return None
    except BadInput:  # there is no such judge, or its weights are not installed
        return None
    calibration_set = make_calibration_set()
    inputs = [answer.judge_input for answer in calibration_set]
    found = {judgement.key: judgement.verdict for judgement in rules.judge(inputs)}
    verdicts = {given.id: verdict for given in inputs if (verdict := found.get(given.key(rules))) is not None}
    passport = make_passport(rules, calibration_set, verdicts, 0)
    if isinstance(rules, SimilarityJudge):
        store_passport(rules, passport)
    return passport


def read_passport(path: Path, judge: JudgeIdentity) -> Passport:
    """Read a passport from a file.

    Raises:
        BadInput: The file is not a passport, or it is that of another judge.
    """
    passport = read_json(path, _PASSPORT)
    for field, expected in (about_judge(judge, "judge") | {"setup": judge.setup}).items():
        if passport.get(field, "") != expected:
            raise BadInput(f"{path}, field {field!r}: expected {expected!r}, got {passport.get(field)!r}")
    return passport
