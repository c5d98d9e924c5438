"""What the tests of models on this machine share."""

import pytest

from tests.models.hf.tiny_models import tiny


@pytest.fixture
def llama():
    return tiny("Llama")[0]
