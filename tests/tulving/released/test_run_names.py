import pytest

from epbench.tulving.released.archive import reader_of, writer_of


@pytest.mark.parametrize(
    ("name", "memory", "model"),
    [
        ("prompting_model_gpt-4o-2024-08-06", "in-context", "gpt-4o-2024-08-06"),
        ("rag_model_claude-3-haiku-20240307_chunk_chapter_top17", "rag-chapter", "claude-3-haiku-20240307"),
        ("rag_model_gpt-4o_chunk_paragraph_top68", "rag-paragraph", "gpt-4o"),
        ("ftuning_model_ft:gpt-4o-mini-2024-07-18:org::AbC_fpolicy_single", "fine-tuned", "gpt-4o-mini-2024-07-18"),
        ("ftuning_model_own-model_fpolicy_all", "fine-tuned", "own-model"),
        ("ftuning_model_own-model", "fine-tuned", "own-model"),
    ],
)
def test_who_answered_with_which_memory(name, memory, model):
    assert reader_of(f"answered_by_kind_{name}") == (memory, model)
    assert reader_of(f"Udefault_Sdefault_seed0/answers/some_book/answered_by_kind_{name}") == (memory, model)


def test_other_names_are_kept():
    assert reader_of("answers/book/my_run") == ("", "my_run")


def test_who_wrote_a_book():
    assert writer_of("model_claude-3-5-sonnet-20240620_itermax_10_Idefault_nbchapters_196_nbtokens_1") == (
        "claude-3-5-sonnet-20240620"
    )
    assert writer_of("my_book") is None
