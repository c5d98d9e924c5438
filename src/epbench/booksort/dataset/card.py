"""The text of a Book-SORT dataset's card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from epbench.booksort.dataset.schema import Recipe
from epbench.booksort.texts.books import Book
from epbench.hub.card import card
from epbench.hub.dataset_folder import Config
from epbench.hub.responsible_use import ResponsibleUse

_TASK = """# Book-SORT: which of two segments came first?

The sequence order recall task: two segments of a text are shown as A and B, and the reader says which one comes first in
the text. It has the excerpt in its context, a memory of the book, or nothing at all. No answer had to be written by hand:
the text itself gives it.
"""

_COLUMNS = """## Columns

A config `e<words of the excerpt>_s<words of a segment>` has one row per excerpt and distance bin, in the order of the
book, so the rows of an excerpt are adjacent. All lengths, positions and distances are in words, as `excerpt_text.split()`
counts them.

| column | meaning |
|---|---|
| `id` | book, config, excerpt and bin: `69087-e250_s20-12-83` |
| `book_idx`, `book_title`, `num_words` | {book_idx}, title, words of the cleaned book |
| `excerpt_idx`, `excerpt_text`, `excerpt_length` | number of the excerpt in its book and config (test excerpts come \
first, in random order); its text; its length |
| `excerpt_pos` | position of the excerpt's first word in the book, as a share of the book's words |
| `segment_idx` | 0: there is one pair per excerpt and bin |
| `segment_1`, `segment_2`, `segment_length` | the earlier and the later segment, and their length |
| `seg1_pos`, `seg2_pos`, `distance` | positions of the segments in the excerpt, from 0; their difference |
| `distance_bin` | largest distance in the bin |
| `present_seg1_first`, `answer` | 1 and `A` if the earlier segment is shown as A, otherwise 0 and `B` |
| `choices` | the two segments in the order in which they are shown: A, then B |

The config `books` has the cleaned texts: `book_idx`, `book_title`, `text` (paragraphs with a blank line between them),
`n_words`, `sha256`. `manifest.json` has the versions, the seed, and the SHA-256 of every file, cleaned book and split.
"""

_USE = """## Use

```python
from datasets import load_dataset

pairs = load_dataset("epbench/booksort", "e250_s20", split="test")
for_choosing_prompts = load_dataset("epbench/booksort", "e250_s20", split="validation")
books = load_dataset("epbench/booksort", "books", split="test")
```

Score with `eval_scripts/booksort.py` of the package, or with the metric `sort_accuracy` on its own.
"""

_MADE = """## How it was made

By `{command}`.

Each book is reduced to its continuous narrative and split at blanks. Excerpts and segments begin at sentences: at a
paragraph, or after a word that ends in `.`, `?`, `!` or `…` (with any closing quotes and brackets) and before a word that
is not in lower case. Full stops of abbreviations, initials and numbers do not count, nor do semicolons, nor a quoted
question that is followed by its speaker. Excerpts are spread evenly over the book. In every excerpt and distance bin, a
distance is drawn uniformly. Of the pairs of segments that no other excerpt of the config has, the one closest to this
distance is taken, with ties broken at random. If no pair is free, other excerpts exchange theirs (an augmenting path of a
matching), so nothing fails by chance.

The following holds in every config, and is tested:

- A is the answer to exactly half of the rows of every book and bin, in both splits{odd}.
- No pair appears twice. Segments lie entirely within their excerpt and do not overlap; they may be adjacent.
- The words of a segment appear only once in its book.
- No word of a validation segment is in a test segment: the two splits take their segments from different stripes of about
  500 words. No excerpt is in both splits, but excerpts of the two splits may overlap, and long ones always do.
- A cell (book, excerpt length, segment length) depends only on the seed and itself.
"""

_LIMITS = """## Limits

- Within a bin, distances are close to uniform if the excerpt has many pairs. In excerpts of 250 words, the closest pair may
  be some words away from the drawn distance.
- Long excerpts of one book share most of their words, so rows are not independent. For an interval, resample whole
  excerpts or books.
- Sentences are found by rules, without a model. The rules would rather miss a start than invent one.
{more}"""
_LIMITS_NINE = """- Formulas in *The Nature of the Physical World* were images, so Project Gutenberg's text has gaps \
in their place.
- The books entered the public domain of the United States between 2022 and 2024; models trained later may know them.
"""
_LIMITS_OWN = (
    "- General rules found the headings, front matter and back matter of these texts: check what was removed.\n"
)

_SOURCE = """## Source and licence

The task, the lengths, the distance bins and the choice of books are those of M. Pink and others, *Assessing Episodic
Memory in LLMs with Sequence Order Recall Tasks*, 2024 (Book-SORT), [arXiv 2410.08133](https://arxiv.org/abs/2410.08133).
Excerpts and pairs were drawn anew, so the rows differ from those of the published set. {licence}

```bibtex
@article{{pink2024sort,
  title = {{Assessing Episodic Memory in {{LLMs}} with Sequence Order Recall Tasks}},
  author = {{Pink, Mathis and Vo, Vy A. and Wu, Qinyuan and Mu, Jianing and Turek, Javier S. and Hasson, Uri and
            Norman, Kenneth A. and Michelmann, Sebastian and Huth, Alexander and Toneva, Mariya}},
  journal = {{arXiv preprint arXiv:2410.08133}},
  year = {{2024}},
  url = {{https://arxiv.org/abs/2410.08133}}
}}
```
"""
_LICENCE_NINE = (
    "The texts come from Project Gutenberg and are in the public domain in the United States (elsewhere, check your local "
    "law); our arrangement of them is dedicated to the public domain, CC0 1.0."
)
_LICENCE_OWN = "The texts keep their own licence; check it before you pass them on."


def booksort_card(command: str, books: Sequence[Book], recipe: Recipe, configs: Sequence[Config]) -> str:
    """Return the README.md of a set, with counts, balance, and what was removed from every book.

    Args:
        command: The command that makes the set.
        books: The books of the set.
        recipe: What was made from them.
        configs: The configs of the set.
    """
    nine = all(book.published_words for book in books)
    uneven = recipe.excerpts % 2 or recipe.validation % 2
    odd = ", plus or minus one if a split has an odd number of excerpts" if uneven else ""
    text = "\n".join(
        [
            _TASK,
            _counts(books, configs),
            _COLUMNS.format(
                book_idx="number at Project Gutenberg" if nine else "position of the file in name order, from 0"
            ),
            _USE,
            _MADE.format(command=command, odd=odd),
            _books(books),
            _LIMITS.format(more=_LIMITS_NINE if nine else _LIMITS_OWN),
            _SOURCE.format(licence=_LICENCE_NINE if nine else _LICENCE_OWN),
            _headings(books),
        ]
    )
    return card(
        configs,
        text,
        pretty_name="epbench booksort: which of two segments of a book came first",
        license="cc0-1.0" if nine else "unknown",
        tags=["episodic-memory", "long-context", "sequence-order"],
        task_category="multiple-choice",
        task_ids=["multiple-choice-qa"],
        responsible_use=_responsible_use(nine),
    )


def _responsible_use(nine: bool) -> ResponsibleUse:
    books = "nine books of Project Gutenberg" if nine else "the texts that the builder was given"
    return ResponsibleUse(
        collection=f"Taken from {books}: each was reduced to its narrative, and excerpts and segments were drawn at random.",
        collection_types=["Document analysis"],
        annotation="Nobody annotated anything. The right answers follow from the order of the text.",
        personal=(
            "The books are published and name their authors, characters and historical persons as in print; nothing else "
            "about anybody was added."
            if nine
            else "That of the texts, which the builder took as they are."
        ),
        biases=(
            "English only. The books were published in the 1920s and show the language and the prejudices of their time; "
            "at each length, every book that is long enough has the same number of rows."
            if nine
            else "Those of the texts. Every book has the same number of rows at each length for which it is long enough."
        ),
        limitations=(
            "Models may know the books from their training, so compare with their answers without the text. Rows of one "
            "book share words and are not independent. Sentences were found by rules."
        ),
        uses=(
            "To measure whether a language model, or a memory system around it, knows in which order things were told. "
            "Not to train models that are measured on it, and not as an edition of the books."
        ),
        impact=(
            "Systems that keep the order of what they read may make fewer mistakes about cause and time; a high score says "
            "nothing about whether they understood the text."
        ),
        maintenance=(
            "The same command and the same texts give the same rows again. Other rows or columns get a higher version and "
            "a tag of their own on the Hub; older tags stay."
        ),
    )


def _counts(books: Sequence[Book], configs: Sequence[Config]) -> str:
    """Return the table of rows, answers and distances of every config."""
    lines = ["## Configs\n", "| config | books | rows, by split | answer A | distances by bin: least, median, most |",
             "|---|---:|---|---|---|"]  # fmt: skip
    by_name: dict[str, dict[str, Mapping[str, Sequence[object]]]] = {}
    for config in configs:
        if config.name != "books":
            by_name.setdefault(config.name, {})[config.split] = config.columns
    for name, splits in by_name.items():
        rows = ", ".join(f"{split} {len(columns['id']):,}" for split, columns in splits.items())
        of_a = ", ".join(f"{Counter(columns['answer'])['A'] / len(columns['id']):.3f}" for columns in splits.values())
        test = splits["test"]
        lines.append(f"| `{name}` | {len(set(test['book_idx']))} | {rows} | {of_a} | {_distances(test)} |")
    for book in books:
        without = [f"`{name}`" for name, splits in by_name.items() if book.index not in set(splits["test"]["book_idx"])]
        if without:
            lines.append(
                f"\n*{book.title}* is shorter than the excerpts of {', '.join(without)} and is left out there."
            )
    return "\n".join([*lines, ""])


def _distances(columns: Mapping[str, Sequence[object]]) -> str:
    by_bin: dict[object, list[object]] = {}
    for edge, distance in zip(columns["distance_bin"], columns["distance"], strict=True):
        by_bin.setdefault(edge, []).append(distance)
    parts = []
    for edge, distances in by_bin.items():
        ordered = sorted(distances)  # type: ignore[type-var]
        parts.append(f"{edge}: {ordered[0]}, {ordered[len(ordered) // 2]}, {ordered[-1]}")
    return "; ".join(parts)


def _books(books: Sequence[Book]) -> str:
    """Return the table of what cleaning kept and removed in every book."""
    kinds = list(dict.fromkeys(kind for book in books for kind in book.removed_words()))
    published = any(book.published_words for book in books)
    titles = ["book", "title", "words kept", *(["words in Table 3"] if published else []), "sentences", *kinds]
    lines = [
        "## What was removed\n",
        "The number of pieces and of their words, by kind. All headings are listed at the end.\n",
    ]
    lines += [f"| {' | '.join(titles)} |", "|---|---|" + "---:|" * (len(titles) - 2)]
    for book in books:
        removed = book.removed_words()
        cells = [str(book.index), book.title, f"{len(book.words):,}"]
        cells += [f"{book.published_words:,}"] if book.published_words else []
        cells.append(f"{len(book.starts):,}")
        cells += ["{:,}: {:,}".format(*removed[kind]) if kind in removed else "–" for kind in kinds]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _headings(books: Sequence[Book]) -> str:
    lines = ["## Removed headings\n"]
    for book in books:
        found = [item.text for item in book.removed if item.kind in ("heading", "sub-heading")]
        lines.append(f"- *{book.title}*: {' · '.join(found) or 'none'}")
    return "\n".join([*lines, ""])
