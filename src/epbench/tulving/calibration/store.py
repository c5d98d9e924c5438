"""Where passports are kept, by judge and prompt, for the reports of later runs."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from epbench.cache import cache_folder
from epbench.errors import BadInput
from epbench.runs.folder import read_json, write_json
from epbench.tulving.calibration.answers import make_answers
from epbench.tulving.calibration.passport import SHARES, Passport, make_passport
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.protocol import Judge

_log = logging.getLogger(__name__)


def passport_path(judge: Judge) -> Path:
    """Where the user's store keeps it: folder `passports` of `$EPBENCH_CACHE`, or of `~/.cache/epbench`."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", judge.name)[-60:].strip("-.")  # of a long path the end tells most
    return cache_folder("passports") / f"{readable}-{judge.prompt_hash}.json"


def store_passport(judge: Judge, passport: Passport) -> Path:
    """Keep it for the reports of later runs; an older one of this judge and prompt is replaced."""
    path = passport_path(judge)
    write_json(path, passport)
    return path


def find_passport(judge: Judge) -> Passport | None:
    """The stored passport of this judge with this prompt; for the rules, which cost nothing, else a new one.

    A stored file that is none is told in a warning and not used.
    """
    path = passport_path(judge)
    if path.is_file():
        try:
            return read_passport(path, judge)
        except BadInput as error:
            _log.warning("%s; make it again by eval_scripts/judge_check.py", error)
    rules = LexicalJudge()
    if (judge.name, judge.prompt_hash) != (rules.name, rules.prompt_hash):
        return None
    made = make_answers()
    return make_passport(rules, made, {answer.case.id: rules.verdict(answer.case) for answer in made}, 0)


def read_passport(path: Path, judge: Judge) -> Passport:
    """A passport from a file.

    Raises:
        BadInput: it is none, or that of another judge or prompt.
    """
    passport = read_json(path)
    for field, expected in (("judge", judge.name), ("prompt_hash", judge.prompt_hash)):
        if passport.get(field) != expected:
            raise BadInput(f"{path}, field {field!r}: {passport.get(field)!r} found, {expected!r} expected")
    intervals = [f"{share}_interval" for share in SHARES]
    others = ("kinds", "f1_when_right", "f1_when_wrong", "made_answers", "seed", "n", "failed")
    for field in (*SHARES, *intervals, *others):
        if field not in passport:
            raise BadInput(f"{path}: the field {field!r} is missing")
    return passport
