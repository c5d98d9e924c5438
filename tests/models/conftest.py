"""What the tests of models share."""

import shutil

import pytest

from tests.tiny_model import make_tiny_model

TEXT = "Answer A or B. A and B were seen at the harbour; B left, A stayed. " * 50


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The folder of a model that knows the words of `TEXT`."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", TEXT, window=4096)


@pytest.fixture
def folder(tiny, tmp_path):
    """A copy of it, to be changed."""
    return shutil.copytree(tiny, tmp_path / "model")
