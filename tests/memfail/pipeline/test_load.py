import pytest

from epbench import BadInput
from epbench.memfail.pipeline.load import load_reader
from epbench.memfail.pipeline.reader import LexicalReader
from epbench.models.load import Options


def test_a_reader_is_the_lexical_one_or_a_model():
    assert isinstance(load_reader("lexical"), LexicalReader)
    assert load_reader("openai:tiny", Options("http://127.0.0.1:9/v1")).name == "openai:tiny"
    with pytest.raises(BadInput, match="unknown model 'gpt'; expected one of: lexical .*, hf:PATH_OR_ID"):
        load_reader("gpt")
