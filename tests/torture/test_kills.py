"""A killed command resumes where it stopped: nothing journaled is lost or repeated, and the results are the same."""

import pytest

from tests.torture.kills import JOBS, prepare, torture

# These do nothing that another job does not do, too.
REPEATED = {"run on a book", "Book-SORT run at an endpoint", "Book-SORT set", "MemFail run"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("torture"))


def killed(job, kills, made, folder):
    tally = torture(job, folder, made, kills)
    assert (tally.kills, tally.lost, tally.paid_again, tally.different) == (kills, 0, 0, [])


@pytest.mark.slow
@pytest.mark.parametrize("job", [job for job in JOBS if job.name not in REPEATED], ids=lambda job: job.name)
def test_nothing_is_lost_by_kills_at_random_moments(job, made, tmp_path):
    killed(job, 2, made, tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_nothing_is_lost_by_many_kills(job, made, tmp_path):
    killed(job, 19, made, tmp_path)  # more than 200 in all
