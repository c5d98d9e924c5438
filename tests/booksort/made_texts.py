"""Random prose, for tests that need texts but no downloaded files."""

import random
from pathlib import Path

from epbench.booksort.texts.books import Book

_WORDS = [a + b + c for a in "bdfgklmnprstv" for b in "aeiou" for c in ("", "n", "ra", "lo", "mi", "st")]


def paragraphs(n_words, seed=0):
    """Return paragraphs of 2 to 8 sentences of 3 to 25 words, with at least `n_words` words in all."""
    draw = random.Random(seed)
    made, n = [], 0
    while n < n_words:
        sentences = [[draw.choice(_WORDS) for _ in range(draw.randint(3, 25))] for _ in range(draw.randint(2, 8))]
        n += sum(map(len, sentences))
        made.append(" ".join(" ".join(words).capitalize() + draw.choice(".?!") for words in sentences))
    return made


def made_book(n_words, seed=0, index=0):
    return Book(index, f"Made {index}", paragraphs(n_words, seed), [], "", f"made{index}.txt")


def write_texts(folder: Path, *n_words):
    """Write the files `a.txt`, `b.txt`, … with these numbers of words."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, n in enumerate(n_words):
        (folder / f"{chr(97 + i)}.txt").write_text("\n\n".join(["CHAPTER I", *paragraphs(n, seed=i)]), "utf-8")
    return folder
