"""The choice of examples: the same from any file in any order, without what is left out, and with the held-out ones apart."""

import hashlib
import json
import random

import pytest

from epbench.errors import BadInput
from epbench.finetuning.texts.instructions import LEFT_OUT, load_instructions, made_instructions, toy_instructions
from epbench.finetuning.texts.tokens import SampleTokens
from tests.finetuning.texts.made_rows import row, rows, write_rows
from tests.finetuning.texts.tiny_tokenizers import tokenizer_with


@pytest.fixture(scope="module")
def tokens():
    return SampleTokens(tokenizer_with("llama"), 2000)


def load(path, tokens, n=10, n_held_out=4, seed=27, learn="text", **more):
    return load_instructions(str(path), n, seed=seed, tokens=tokens, learn=learn, n_held_out=n_held_out, **more)


def ids_of(chosen):
    return [sample.id for sample in chosen.samples], [sample.id for sample in chosen.held_out]


def by_the_rule(contents, seed):
    """Ids of all rows in the order in which they are taken."""
    roles = {"human": "user", "gpt": "assistant"}
    numbers = [
        hashlib.sha256(
            json.dumps(
                [seed, [{"role": roles[turn["from"]], "content": turn["value"]} for turn in content["conversations"]]]
            ).encode()
        ).hexdigest()
        for content in contents
    ]
    return [f"instruction/{number[:16]}" for number in sorted(numbers)]


def test_rows_are_taken_in_the_order_of_their_numbers_and_the_next_are_held_out(tmp_path, tokens):
    chosen = load(write_rows(tmp_path / "rows.parquet", rows(40)), tokens)
    order = by_the_rule(rows(40), 27)
    assert ids_of(chosen) == (order[:10], order[10:14])
    assert {sample.kind for sample in [*chosen.samples, *chosen.held_out]} == {"instruction"}
    assert all(sample.n_learned > 0 for sample in chosen.samples)


def test_neither_the_order_nor_the_format_matters_but_the_seed_does(tmp_path, tokens):
    one = load(write_rows(tmp_path / "rows.parquet", rows(40)), tokens)
    shuffled = random.Random(1).sample(rows(40), 40)
    other = load(write_rows(tmp_path / "rows.json", shuffled), tokens)
    write_rows(tmp_path / "folder" / "train-0.jsonl", shuffled[:9])
    write_rows(tmp_path / "folder" / "train-1.jsonl", shuffled[9:])
    third = load(tmp_path / "folder", tokens)
    assert one.samples == other.samples == third.samples and one.held_out == other.held_out == third.held_out
    assert one.facts | {"source": ""} == other.facts | {"source": ""} == third.facts | {"source": ""}
    assert ids_of(load(tmp_path / "folder", tokens, seed=28)) != ids_of(third)


def test_the_facts_count_what_is_left_out(tmp_path, tokens):
    content = [
        *rows(20),
        *(row(f"q{i}", "a", name) for i, name in enumerate(["joke", "Stylized_Response", "stylized  response"])),
        *(row(f"Q{i}", "a", name) for i, name in enumerate(LEFT_OUT)),
        row("unanswered", ""),
        rows(20)[3] | {"category": "another"},
        rows(20)[3],
    ]
    path = write_rows(tmp_path / "rows.jsonl", content)
    facts = load(path, tokens).facts
    assert json.loads(json.dumps(facts)) == facts
    assert facts["categories_left_out"] == dict.fromkeys(LEFT_OUT, 1) | {"joke": 2, "stylized response": 3}
    assert {name: facts[name] for name in ("source", "n", "held_out", "seed", "rows", "without_answer", "repeated")} == {
        "source": path, "n": 10, "held_out": 4, "seed": 27, "rows": len(content), "without_answer": 1, "repeated": 2,
    }  # fmt: skip
    assert facts["too_long"] == facts["not_written"] == 0 and "revision" not in facts
    assert facts["fingerprint"] != load(path, tokens, seed=1).facts["fingerprint"]


@pytest.mark.slow
def test_what_is_too_long_or_spells_a_special_token_is_passed_over_and_the_source_read_again_if_need_be(tmp_path):
    short = SampleTokens(tokenizer_with("llama"), 200)
    good = rows(14)
    content = [*good, *(row(f"{i}", "word " * 400) for i in range(150)), *(row(f"{i}", "</s>") for i in range(50))]
    chosen = load(write_rows(tmp_path / "rows.jsonl", content), short)
    order = by_the_rule(good, 27)
    assert ids_of(chosen) == (order[:10], order[10:])
    everything = by_the_rule(content, 27)
    passed = everything.index(order[-1]) + 1 - len(good)
    assert passed > 100 and chosen.facts["too_long"] + chosen.facts["not_written"] == passed
    assert chosen.facts["not_written"] > 0 < chosen.facts["too_long"]
    unlimited = SampleTokens(tokenizer_with("llama"))
    assert load(tmp_path / "rows.jsonl", unlimited).facts["too_long"] == 0


def test_the_same_rows_are_chosen_whatever_is_learned(tmp_path, tokens):
    path = write_rows(tmp_path / "rows.jsonl", rows(30))
    assert ids_of(load(path, tokens, learn="all")) == ids_of(load(path, tokens, learn="text"))


def test_too_few_examples_are_refused_with_numbers(tmp_path, tokens):
    path = write_rows(tmp_path / "rows.jsonl", [*rows(12), row("joke", "a", "joke"), row("bad", "</s>")])
    with pytest.raises(BadInput) as error:
        load(path, tokens)
    assert str(error.value) == (
        f"instructions '{path}': expected 10 examples and 4 to hold out, found 12 in all (rows 14, "
        "categories_left_out {'joke': 1}, without_answer 0, repeated 0, too_long 0, not_written 1; "
        f"sample {next(id_ for id_ in by_the_rule([row('bad', '</s>')], 27))}: message 1 (assistant), character 0: expected "
        "plain text, found '</s>', which is a special token of this model)"
    )


def test_it_is_said_how_long_an_example_may_be(tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", rows(14))
    with pytest.raises(BadInput, match="too_long 14, not_written 0; an example may have 4 tokens"):
        load(path, SampleTokens(tokenizer_with("llama"), 4))


def test_progress_is_shown(tmp_path, tokens):
    shown = []

    def progress(items, what, total):
        shown.append((what, total))
        return items

    load(write_rows(tmp_path / "rows.parquet", rows(40)), tokens, progress=progress)
    load(write_rows(tmp_path / "rows.jsonl", rows(40)), tokens, progress=progress)
    assert shown == [
        ("rows of instructions", 40),
        ("instructions", 28),
        ("parts of instructions", 1),
        ("instructions", 28),
    ]


def test_examples_made_by_rules_need_no_source(tokens):
    chosen = made_instructions(20, seed=3, tokens=tokens, learn="text", n_held_out=5)
    assert (len(chosen.samples), len(chosen.held_out), chosen.facts["source"]) == (20, 5, "made by rules")
    assert not set(ids_of(chosen)[0]) & set(ids_of(chosen)[1])
    assert chosen.facts["rows"] == 25
    assert made_instructions(20, seed=3, tokens=tokens, learn="text", n_held_out=5) == chosen
    assert ids_of(made_instructions(20, seed=4, tokens=tokens, learn="text", n_held_out=5)) != ids_of(chosen)


def test_made_examples_differ_and_their_answers_are_right():
    made = toy_instructions(500, 1)
    assert len({str(messages) for messages in made}) == 500 and made[:100] == toy_instructions(100, 1)
    assert {len(messages) for messages in made} == {2, 3, 4, 5}
    checked = set()
    for messages in made:
        turns = messages[messages[0]["role"] == "system" :]
        for task, answer in zip(turns[::2], turns[1::2], strict=True):
            assert (task["role"], answer["role"]) == ("user", "assistant")
            words = task["content"].rstrip("?").replace(",", "").split()
            expected = {
                "Repeat": lambda words: " ".join(words[3:]),
                "How": lambda words: str(len(words[-2])),
                "Sort": lambda words: ", ".join(sorted(words[7:])),
                "What": lambda words: str(int(words[2]) + int(words[4])),
                "Which": lambda words: words[-1],
            }[words[0]](words)
            assert answer["content"] == expected
            checked.add(words[0])
    assert len(checked) == 5
