"""A killed command resumes where it stopped: nothing journaled is lost or repeated, and the results are the same."""

import pytest

from tests.torture.kills import JOBS, prepare, torture


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("torture"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills", [4, pytest.param(19, marks=pytest.mark.nightly)]
)  # 19 of each job: more than 200 in all
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_nothing_is_lost_by_kills_at_random_moments(job, kills, made, tmp_path):
    tally = torture(job, tmp_path, made, kills)
    assert (tally.kills, tally.lost, tally.paid_again, tally.different) == (kills, 0, 0, [])
