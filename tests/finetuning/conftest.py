"""What the tests of training share."""

import pytest

from tests.tiny_model import make_tiny_model


@pytest.fixture(scope="session")
def base(once):
    return once("base-for-training", lambda folder: make_tiny_model(folder, "a tiny model " * 50, vocabulary=300))
