"""What the tests share: datasets that are built once, real data where it lies beside the checkout, our scripts."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.own_home import HOME  # isort: skip  (before what reads its variables)

import pytest
from filelock import FileLock
from hypothesis import settings

from epbench.booksort.texts.books import Book, books_from
from tests.booksort.nine_texts import table_of, write_nine
from tests.published_data import OURS
from tests.reports.browser import CHROMIUM, NONE_HERE, Browser
from tests.reports.words_of_figures import words_in_place
from tests.scripts import in_process

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"

if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores already
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# A loaded machine is slow, and that is no fault of the code. `make test-slow` and `make test-nightly` try more examples.
settings.register_profile("epbench", deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile("epbench")

ssl.create_default_context = cache(ssl.create_default_context)  # every client of a server reads all certificates

NINE_TEXTS = {"made": None} | ({"gutenberg": SHARED / "gutenberg"} if (SHARED / "gutenberg").is_dir() else {})

Script = Callable[..., "subprocess.CompletedProcess[str]"]
Once = Callable[[str, Callable[[Path], object]], Path]


def pytest_configure(config: pytest.Config) -> None:
    """Hide the GPUs of this machine: tests compare results with those of a CPU. `-m gpu` alone runs what needs one."""
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Give a worker a file of tests, or a whole folder `paper`, whose files share what takes seconds to make."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrPaper(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            folder = file.rpartition("/")[0]
            return folder if folder.endswith("/paper") else file

    return ByFileOrPaper(config, log)


def pytest_collection_finish() -> None:
    """Set thousands of collected tests apart from what the garbage collector looks through again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def drawing_of_pictures() -> Iterator[Callable[[], AbstractContextManager[object]]]:
    """Write the words of a picture in its place: matplotlib draws for a quarter of the time that a run's files take.

    Yields what brings the drawing back.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    real = FigureCanvasSVG.print_svg
    with patch.object(FigureCanvasSVG, "print_svg", words_in_place):
        yield lambda: patch.object(FigureCanvasSVG, "print_svg", real)


@pytest.fixture
def drawn_pictures(drawing_of_pictures: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """For one test, pictures are drawn as users get them."""
    with drawing_of_pictures():
        yield


@pytest.fixture(scope="session", autouse=True)
def passport_by_rules() -> Iterator[None]:
    """Make the passport of the built-in judge once, not for each run that it has judged."""
    from epbench.tulving.calibration import passport

    real = passport._passport_by_rules
    made: dict[str, passport.Passport | None] = {}

    def find(judge: passport.JudgeIdentity) -> passport.Passport | None:
        if judge.name != "lexical":
            return real(judge)
        if judge.prompt_hash not in made:
            made[judge.prompt_hash] = real(judge)
        return made[judge.prompt_hash]

    with patch.object(passport, "_passport_by_rules", find):
        yield


@pytest.fixture(scope="session")
def hf_home() -> Path:
    """Home of Hugging Face's libraries for these tests."""
    return HOME


@pytest.fixture(scope="session")
def process() -> Script:
    """Run one of our scripts in a process of its own: `process("builders/tulving.py", "--book", "short", …)`."""

    def run(line: str, *args: object, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
        name, *words = line.split()
        return subprocess.run(
            [sys.executable, str(ROOT / name), *words, *map(str, args)],
            cwd=cwd,
            env=os.environ | {"COLUMNS": "100"} | env,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


@pytest.fixture(scope="session")
def script(process: Script) -> Script:
    """Run one of our scripts in this process, which spares the seconds that a new Python takes to import everything.

    A script that gets another folder or other variables of Hugging Face, which are read at import, has a process of its
    own.
    """

    def run(name: str, *args: object, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
        if cwd != ROOT or any(variable.startswith("HF_") for variable in env):
            return process(name, *args, cwd=cwd, **env)
        with patch.dict(os.environ, {"COLUMNS": "100"} | env), contextlib.chdir(ROOT):
            return in_process.script(name, *args)

    return run


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Folders that are made once per run of the tests and shared by its workers: `once("books", make)`."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, draft = root / f"once-{name}", root / f"draft-{name}"
        with FileLock(root / f"once-{name}.lock"):
            if not folder.exists():
                shutil.rmtree(draft, ignore_errors=True)  # of a worker whose attempt failed
                draft.mkdir()
                make(draft)
                draft.rename(folder)
        return folder

    return made


@pytest.fixture(scope="session")
def short_book(once: Once) -> Path:
    """The dataset `short`, built by the builder."""
    return once("short", lambda out: in_process.ran("builders/tulving.py --book short --out", out)) / "short"


@pytest.fixture(
    scope="session",
    params=[name if name == "made" else pytest.param(name, marks=pytest.mark.slow) for name in NINE_TEXTS],
)
def nine_texts(request: pytest.FixtureRequest, once: Once) -> Path:
    """The files of Book-SORT's nine books: made-up ones, and the real ones where they lie beside the checkout."""
    return NINE_TEXTS[request.param] or made_texts(once)


def made_texts(once: Once) -> Path:
    """The made-up files of the nine books."""
    return once("nine-texts", write_nine)


@pytest.fixture
def nine_table(nine_texts: Path) -> Iterator[None]:
    """For one test, the package takes these files for the nine books."""
    with table_of(nine_texts):
        yield


@pytest.fixture(scope="session")
def nine_books(nine_texts: Path) -> dict[int, Book]:
    """The nine books by their number."""
    with table_of(nine_texts):
        return {book.index: book for book in books_from(nine_texts)}


@pytest.fixture(scope="session")
def nine_set(nine_texts: Path, once: Once) -> Path:
    """The dataset of the nine books in full, built by the builder."""
    return set_of(nine_texts, once)


def set_of(texts: Path, once: Once) -> Path:
    """The dataset of these files of the nine books."""

    def build(out: Path) -> None:
        with table_of(texts):
            in_process.ran("builders/booksort.py", "--texts", texts, "--out", out)

    return once(f"set-of-{texts.name}", build) / "booksort"


@pytest.fixture(scope="session")
def released() -> Path:
    """An archive in the published layout that is in the repository: one short book with three runs."""
    return OURS


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests that open pages."""
    if CHROMIUM is None:
        pytest.skip(NONE_HERE)
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found
