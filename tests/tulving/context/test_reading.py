"""A reading: the requests, the memory system and the identity of a run, without a script."""

import pytest

from epbench import BadInput, load_book
from epbench.models.protocol import Sampling
from epbench.progress import no_progress
from epbench.tulving.context.requests import Reading, published_top_k


@pytest.fixture(scope="module")
def data(short_book):
    return load_book(str(short_book))


def test_a_part_of_the_questions_gets_as_many_passages_as_the_whole(data):
    reading = Reading(memory="rag-chapter", repeats=2, sampling=Sampling(9, 0.5, 3))
    some = [row for row in data.rows if row["n_chapters"] <= 1][:3]
    requests = reading.requests(data, some)
    assert [(request.id, request.repeat) for request in requests] == [(row["id"], n) for row in some for n in (0, 1)]
    k = reading.identity(data)["top_k"]
    assert k == max(row["n_chapters"] for row in data.rows) > 1
    assert {request.context.count("Chapter ") for request in requests} == {k}
    assert published_top_k("none", []) is None and Reading(memory="none").identity(data)["top_k"] is None


def test_identities_tell_readings_apart(data):
    plain = Reading(memory="rag-chapter")
    others = [
        Reading(memory="none"), Reading(memory="rag-chapter", top_k=2), Reading(memory="rag-chapter", keep_order=True),
        Reading(memory="rag-chapter", repeats=2), Reading(memory="rag-chapter", sampling=Sampling(9)),
    ]  # fmt: skip
    identities = [reading.identity(data) for reading in (plain, *others)]
    assert all(identity not in identities[:place] for place, identity in enumerate(identities))
    assert plain.identity(data) == Reading(memory="rag-chapter", request_timeout=1.0).identity(data)


def test_a_memory_system_reads_the_book_and_its_memories_are_shown(data, tmp_path):
    reading = Reading(memory="oracle")
    system = reading.system(data)
    assert system is not None and system.baseline
    row = next(row for row in data.rows if row["n_chapters"] == 2)
    requests, warnings = reading.requests_of_system(tmp_path, system, data, [row], no_progress)
    (request,) = requests
    texts = dict(data.book.chapters)
    assert all(texts[number] in request.context for number in row["chapters"]) and not warnings


def test_what_does_not_go_together_is_refused(data):
    assert Reading(memory="none").system(data) is None
    with pytest.raises(BadInput, match="unknown memory 'human'; there are: in-context, rag-paragraph"):
        Reading(memory="human").system(data)
    with pytest.raises(BadInput, match="not with a memory system"):
        Reading(memory="oracle", keep_order=True).system(data)


@pytest.mark.parametrize(("repeats", "expected"), [(0, "at least 1, got 0"), (10**12, "at most 10,000, got 1,000,000")])
def test_a_number_of_repeats_out_of_range_is_refused(repeats, expected):
    with pytest.raises(BadInput, match=f"repeats: expected {expected}"):
        Reading(memory="none", repeats=repeats)
