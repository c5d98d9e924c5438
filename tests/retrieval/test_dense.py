from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from epbench.errors import RunFailed
from epbench.retrieval import dense
from epbench.retrieval.dense import TOPICS, Dense, LatentEmbedder, batches, latent_search
from tests.retrieval.counting_embedder import CountingEmbedder


class Given(CountingEmbedder):
    """Returns the given vectors."""

    def __init__(self, vectors):
        super().__init__()
        self.vectors = vectors

    def embed(self, texts, *, query):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def loop(chunks, query, k):
    """The k best by a plain loop over unit vectors, float64, equal scores in order."""

    def unit(vector):
        vector = np.array(vector, dtype=np.float32).astype(float)
        length = sum(x * x for x in vector) ** 0.5
        return [float(np.float32(x / length)) if length else 0.0 for x in vector]

    query = unit(query)
    scores = [
        float(sum(Fraction(a) * Fraction(b) for a, b in zip(unit(chunk), query, strict=True))) for chunk in chunks
    ]
    return sorted(range(len(chunks)), key=lambda i: -scores[i])[:k], scores


numbers = st.integers(-3, 3)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(0, 30))
def test_search_is_what_a_plain_loop_finds(data, size, n):
    vectors = st.lists(numbers, min_size=size, max_size=size)
    chunks, queries = data.draw(st.lists(vectors, min_size=n, max_size=n)), data.draw(st.lists(vectors, max_size=4))
    k = data.draw(st.integers(0, n + 2))
    embedder = Given({f"c{i}": v for i, v in enumerate(chunks)} | {f"q{i}": v for i, v in enumerate(queries)})
    index = Dense([f"c{i}" for i in range(n)], embedder)
    found = list(index.search([f"q{i}" for i in range(len(queries))], k))
    assert len(found) == len(queries)
    for places, query in zip(found, queries, strict=True):
        expected, scores = loop(chunks, query, k)
        assert len(places) == len(set(places)) == len(expected)
        # Float64 cannot tell scores apart that differ in the last place: those may change places, no others.
        assert [scores[i] for i in places] == pytest.approx([scores[i] for i in expected], abs=1e-14)
        for a, b in pairwise(places):
            assert a < b or chunks[a] != chunks[b]


def test_equal_chunks_tie_in_their_order_wherever_they_lie():
    """A float32 product alone fails here: its last bits depend on the place in the matrix."""
    names = [f"text {i % 37}" for i in range(1000)]
    index = Dense(names, CountingEmbedder(size=333))
    for places in index.search([f"question {i}" for i in range(50)], 1000):
        for start in range(0, 1000 - 27, 27):
            same = [p for p in places if p % 37 == places[start] % 37]
            assert same == sorted(same)


def test_what_else_is_asked_and_the_size_of_blocks_change_nothing(monkeypatch):
    chunks, queries = [f"c{i}" for i in range(200)], [f"q{i}" for i in range(40)]
    index = Dense(chunks, CountingEmbedder(size=64))
    together = list(index.search(queries, 7))
    assert [found for query in queries for found in index.search([query], 7)] == together
    monkeypatch.setattr(dense, "_BLOCK_BYTES", 4 * 200 * 3)
    assert list(index.search(queries, 7)) == together
    assert [places[:3] for places in together] == list(index.search(queries, 3))


def test_the_length_of_a_vector_does_not_count():
    embedder = Given({"long": [0, 100], "short": [0.01, 0], "zero": [0, 0], "near": [1, 0.1], "q": [5, 0]})
    assert list(Dense(["zero", "long", "near", "short"], embedder).search(["q"], 4)) == [[3, 2, 0, 1]]


def test_nothing_is_embedded_twice_and_the_chunks_are_checked():
    embedder = CountingEmbedder()
    index = Dense(["a", "b", "a"], embedder)
    assert list(index.search(["q", "q"], 2)) == 2 * list(index.search(["q"], 2))
    assert embedder.embedded == [("a", False), ("b", False), ("q", True), ("q", True)]
    assert embedder.checked == [["a", "b", "a"]]


def test_no_chunks_no_questions_and_no_places():
    assert list(Dense([], CountingEmbedder()).search(["a", "b"], 3)) == [[], []]
    assert list(Dense(["a"], CountingEmbedder()).search([], 3)) == []
    assert list(Dense(["a"], CountingEmbedder()).search(["q"], 0)) == [[]]


@pytest.mark.parametrize(
    ("vectors", "match"),
    [(np.ones((1, 3)), r"shape \(2, d\), got \(1, 3\)"), (np.ones(2), "shape"), (np.full((2, 3), np.nan), "NaN")],
)
def test_something_other_than_vectors_is_refused(vectors, match, monkeypatch):
    embedder = CountingEmbedder()
    monkeypatch.setattr(embedder, "embed", lambda texts, *, query: vectors)
    with pytest.raises(RunFailed, match=match):
        Dense(["a", "b"], embedder)


def test_a_model_that_changes_between_chunks_and_queries_is_refused():
    embedder = CountingEmbedder(size=4)
    index = Dense(["a"], embedder)
    embedder.size = 6
    with pytest.raises(RunFailed, match="4 and 6 numbers"):
        list(index.search(["q"], 1))


@settings(deadline=None)
@given(st.lists(st.text(max_size=9), max_size=30), st.integers(1, 40), st.integers(1, 5))
def test_batches_hold_all_texts_in_order_within_the_limits(texts, most_bytes, most_texts):
    made = list(batches(texts, most_bytes, most_texts))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= most_texts
        assert len(batch) == 1 or sum(len(text.encode()) for text in batch) <= most_bytes


STORES = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "é", "1", "Tea_5"]), max_size=8).map(" ".join),
    min_size=1,
    max_size=30,
)


@pytest.mark.slow
@given(STORES)
@example(["a a b c", "a b", "a a b c"])
def test_topics_are_those_of_scikit_learn(store):
    sklearn = pytest.importorskip("sklearn", reason="the reference comes with epbench[dev]")
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    assert sklearn and latent_search(store)  # texts without words, too
    if not any(text.strip() for text in store):
        return
    words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
    weights = words.fit_transform(store)
    size = min(TOPICS, min(weights.shape) - 1)
    expected = weights.toarray()
    if size >= 2:
        strengths = np.linalg.svd(expected, compute_uv=False)
        assume(strengths[size - 1] - strengths[size] > 1e-6)  # of topics that are equally strong any may be left out
        with np.errstate(all="ignore"):  # it divides by the variance of the texts, which may all be the same
            expected = TruncatedSVD(size, algorithm="arpack", random_state=0).fit(weights).transform(weights)
    found = LatentEmbedder(store).embed([*store, "unknown"], query=True)
    assert found[:-1] @ found[:-1].T == pytest.approx(expected @ expected.T, abs=1e-6)
    assert not found[-1].any()
