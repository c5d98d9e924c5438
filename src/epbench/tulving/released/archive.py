"""How the published data of the paper (figshare) is laid out: which books it holds, and which runs on them.

`U<universe>_S<styles>_seed<n>/` is an experiment, with `events.json`, `meta_events.json`, `books/<book>/` (the text, its
chapters and its questions) and `answers/<book>/<run>/` (answers and verdicts by question number). The folder of a book
is named `model_<generator>_itermax_10_I<indexing>_nbchapters_<n>_nbtokens_<n>`, and that of a run says who answered, with
which memory. Only answers were published for the books sorted by date; their text and chapter numbers follow from the book
that they reorder. A folder below `answers/<book>/` is a run only if it holds `raw_answers`: the data for fine-tuning
(`ftuning_single.id`, `ftuning_single_<n>.jsonl`) lies there too, in a folder of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from epbench.errors import BadInput
from epbench.tulving.dataset.build import Order, dataset_name
from epbench.tulving.released.files import Files

_EXPERIMENT = re.compile(r"U(?P<universe>[A-Za-z]+?)(?P<ordered>Ordered)?_S[A-Za-z]+_seed\d+")
_BOOK = re.compile(
    r"model_(?P<generator>.+)_itermax_\d+_I(?P<indexing>[A-Za-z]+)_nbchapters_(?P<chapters>\d+)_nbtokens_\d+"
)

_VERSION = re.compile(r"-\d{4}-?\d\d-?\d\d$")  # the date at the end of a model's name

_Key = tuple[str, str]  # path of an experiment, and name of a book's folder in it


@dataclass(frozen=True)
class ReleasedBook:
    """One published book."""

    root: str  # the path of its experiment's folder in the archive
    folder: str  # the name of its own folder
    base: str  # the path of the folder with its text and questions; for a reordered book, that of the original
    universe: str  # the name of its universe, as in the name of the experiment
    generator: str  # the model that wrote it
    n_chapters: int  # the number of chapters, as in the name of the folder
    order: Order  # `chronological` for a book sorted by date

    @property
    def book(self) -> str:
        """`short`, `long` or `very-long`, by the number of chapters."""
        return "short" if self.n_chapters < 100 else "long" if self.n_chapters < 1000 else "very-long"

    @property
    def name(self) -> str:
        """The name of the dataset that is made from it, such as `long-ordered`."""
        return dataset_name(self.book, self.universe, self.order)

    @property
    def experiment(self) -> str:
        """The path of the experiment that holds its text, its events and their layouts."""
        return self.base.rsplit("/books/", 1)[0]


@dataclass(frozen=True)
class Archive:
    """A published archive."""

    files: Files  # access to its files
    books: Sequence[ReleasedBook]  # all its books, sorted by path
    # By root and folder of a book, the paths of its folders of answers, and whether each is a run
    answers: Mapping[_Key, Mapping[str, bool]]

    def dataset_of(self, book: ReleasedBook) -> str:
        """Return the name of a book's dataset, which no other book of the archive has.

        If several models wrote a book of that kind, the name is that of the model with most books here, and the others'
        datasets are named after their models, without the date of the version: `long-gpt-4o`.
        """
        rivals = {other.generator for other in self.books if other.name == book.name}
        n_books = Counter(other.generator for other in self.books)
        if book.generator == min(rivals, key=lambda generator: (-n_books[generator], generator)):
            return book.name
        return f"{book.name}-{_VERSION.sub('', book.generator)}"

    def find_book(self, book: str, universe: str, order: Order, generator: str | None = None) -> ReleasedBook:
        """Return the one book of a kind, by any generator if none is given; BadInput lists the books unless just one fits."""
        same_kind = [b for b in self.books if (b.book, b.universe, b.order) == (book, universe, order)]
        fitting = [b for b in same_kind if generator in (None, b.generator)]
        if len(fitting) == 1:
            return fitting[0]
        source = self.files.source
        if not fitting:
            available = ", ".join(sorted({f"{b.name} by {b.generator}" for b in self.books}))
            by = f" by {generator}" if generator else ""
            raise BadInput(f"{source} has no {dataset_name(book, universe, order)}{by}; it has: {available}")
        generators = sorted({b.generator for b in fitting})
        if len(generators) > 1:
            raise BadInput(f"{source}: several books fit; choose one by its generator: {', '.join(generators)}")
        folders = ", ".join(sorted(f"{b.root}/{b.folder}" for b in fitting))
        raise BadInput(f"{source}: several books by {generators[0]} fit: {folders}")


def open_archive(source: Path) -> Archive:
    """List the books and runs of a folder or zip, at whatever depth; BadInput if it is missing, damaged, or holds no book."""
    files = Files(source)
    texts: dict[_Key, str] = {}  # the path of each book's folder
    answers: dict[_Key, dict[str, bool]] = {}
    for path in files.paths:
        parts = PurePosixPath(path).parts
        at = next((i for i, part in enumerate(parts) if _EXPERIMENT.fullmatch(part)), None)
        if at is None or len(parts) < at + 4 or not _BOOK.fullmatch(parts[at + 2]):
            continue
        key = ("/".join(parts[: at + 1]), parts[at + 2])
        if parts[at + 1] == "books":
            texts[key] = "/".join(parts[: at + 3])
        elif parts[at + 1] == "answers" and len(parts) > at + 4:
            folders, folder = answers.setdefault(key, {}), "/".join(parts[: at + 4])
            folders[folder] = folders.get(folder, False) or parts[at + 4] == "raw_answers"
    books = [_described(root, folder, texts) for root, folder in sorted({*texts, *answers})]
    if not books:
        raise BadInput(f"{source}: found no published book, expected folders U…_S…_seed…/books/model_…")
    return Archive(files, books, answers)


def _described(root: str, folder: str, texts: Mapping[_Key, str]) -> ReleasedBook:
    """What the names of two folders say about a book."""
    experiment, book = _EXPERIMENT.fullmatch(PurePosixPath(root).name), _BOOK.fullmatch(folder)
    assert experiment is not None and book is not None
    ordered = experiment["ordered"] is not None or book["indexing"] == "ordered"
    base = texts.get((root, folder)) or next(
        (
            path
            for (other_root, other), path in sorted(texts.items())
            if ordered
            and PurePosixPath(other_root).name == PurePosixPath(root).name.replace("Ordered", "")
            and (match := _BOOK.fullmatch(other)) is not None
            and (match["generator"], match["chapters"]) == (book["generator"], book["chapters"])
        ),
        f"{root}/books/{folder}",  # it is missing, which the error of whoever reads it says
    )
    return ReleasedBook(
        root=root,
        folder=folder,
        base=base,
        universe=experiment["universe"],
        generator=book["generator"],
        n_chapters=int(book["chapters"]),
        order="chronological" if ordered else "narrative",
    )


_RUN = re.compile(
    r"answered_by_kind_(?:prompting_model_(?P<prompted>.+)|rag_model_(?P<read>.+)_chunk_(?P<chunk>paragraph|chapter)_top\d+"
    r"|ftuning_model_(?P<tuned>.+?)(?:_fpolicy_.+)?)"
)
_WRITER = re.compile(r"model_(?P<writer>.+)_itermax_")


def reader_of(run: str) -> tuple[str, str]:
    """The memory and the model in the name of a run's folder, such as `answered_by_kind_rag_model_gpt-4o_chunk_chapter_top17`.

    Returns:
        The memory in our words, such as `rag-chapter`, and the model; for a trained one, the model that was trained. The
        memory is empty and the model the name itself if it is none that the published code gives.
    """
    name = run.rsplit("/", 1)[-1]
    match = _RUN.fullmatch(name)
    if not match:
        return "", name
    if match["read"]:
        return f"rag-{match['chunk']}", match["read"]
    if match["prompted"]:
        return "in-context", match["prompted"]
    # A trained model of OpenAI is called ft:<model>:<owner>:…
    return "fine-tuned", match["tuned"].split(":")[1 if match["tuned"].startswith("ft:") else 0]


def writer_of(book: str) -> str | None:
    """The model that wrote a book, from the name of its folder in the archive; None if that names none."""
    match = _WRITER.match(book)
    return match["writer"] if match else None
