"""The runs that the tests of the paper's tables share."""

import pytest

from epbench.tulving.paper.lines import lines_of
from tests.tulving.paper import given_runs


@pytest.fixture(scope="session")
def given(tmp_path_factory, short_book):
    return given_runs.given(tmp_path_factory.mktemp("given"), short_book)


@pytest.fixture(scope="session")
def lines(given):
    return lines_of(given.inputs)
