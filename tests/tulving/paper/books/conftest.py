import pytest

from epbench.tulving.paper.books import inputs


@pytest.fixture(scope="module", autouse=True)
def words():
    """No test looks for the encoding in a network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "length_counter", lambda: (lambda text: len(text.split()), "words"))
        yield
