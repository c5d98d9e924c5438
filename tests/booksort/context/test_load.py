import pytest

from epbench import BadInput
from epbench.booksort.context.load import load_reader
from epbench.booksort.context.oracle import Oracle
from epbench.booksort.context.prompts import load_prompts
from epbench.models.load import Options

PACK = load_prompts()


def test_a_reader_is_the_oracle_or_a_model():
    reader = load_reader("oracle", PACK)
    assert isinstance(reader, Oracle) and reader.costs_nothing and reader.continues_prompts
    model = load_reader("openai:tiny", PACK, Options("http://127.0.0.1:9/v1"))
    assert not model.costs_nothing and not model.continues_prompts


@pytest.mark.parametrize(
    ("name", "message"),
    [("lexical", "knows nothing of order; the offline baseline"), ("gpt", "expected one of: oracle .*, hf:PATH_OR_ID")],
)
def test_another_name_is_refused(name, message):
    with pytest.raises(BadInput, match=message):
        load_reader(name, PACK)
