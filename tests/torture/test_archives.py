"""Any archive is scored or refused with one line, and nothing is written outside the folder of results."""

import pytest

from tests.torture.archives import Mutation, as_zip, mutations, outcomes, small_archive


def check(folder, seed, n):
    found = list(outcomes(folder, mutations(seed, n)))
    assert len(found) == n
    assert not (tracebacks := [one.detail for one in found if one.kind == "traceback"]), tracebacks[0]
    assert not [(one.detail, one.escaped) for one in found if one.escaped]
    assert {one.kind for one in found} == {"scored", "refused"}


def test_the_unmutated_archive_is_scored(tmp_path):
    (outcome,) = outcomes(tmp_path, [Mutation("none", as_zip(small_archive().items()))])
    assert outcome.kind == "scored", outcome


@pytest.mark.slow
def test_damaged_and_hostile_archives_end_in_one_line(tmp_path):
    check(tmp_path, 1, 40)


@pytest.mark.slow
@pytest.mark.nightly
def test_many_damaged_and_hostile_archives_end_in_one_line(tmp_path):
    check(tmp_path, 2, 500)
