"""The README and the pages in docs/: every command in them runs, or says what it needs that a test does not have.

`make docs` checks their links.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import epbench
from epbench.command import commands
from tests.scripts.in_process import script

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/api/*.md"))]
PICTURE = "docs/images/memories.svg"
NEEDS = re.compile(r"\bneeds (.+)")
BIN = Path(sys.executable).parent
TAKES_MINUTES = re.compile(r"epbench profile|hf:smollm2")
"""What `make test-nightly` runs of the README: smaller profiles and models have slow tests of their own."""


@dataclass(frozen=True)
class Command:
    """A command of a page; `needs` is what a test does not have."""

    page: str
    line: int
    text: str
    needs: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def blocks(page: Path, language: str) -> Iterator[tuple[int, list[str]]]:
    """The code blocks of a page, each with the number of its first line."""
    inside: list[str] | None = None
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if inside is None and line.strip() == f"```{language}":
            first, inside = number + 1, []
        elif inside is not None and line.strip() == "```":
            yield first, inside
            inside = None
        elif inside is not None:
            inside.append(line)


def commands_of(page: Path) -> Iterator[Command]:
    name = page.relative_to(ROOT).as_posix()
    for first, lines in blocks(page, "sh"):
        for number, line in enumerate(lines, first):
            code, _, said = line.partition(" # ") if not line.startswith("#") else ("", "", "")
            if code.strip():
                needs = NEEDS.search(said)
                yield Command(name, number, code.strip(), needs[1] if needs else None)


COMMANDS = [command for page in PAGES for command in commands_of(page)]
OURS = [command for command in COMMANDS if command.text.startswith("epbench ")]


def test_there_are_commands_of_both_kinds():
    assert len(COMMANDS) > 30 and len(OURS) > 20
    assert {command.needs for command in COMMANDS} >= {None, "the network", "a key", "a GPU"}


def test_the_three_lines_and_a_picture_are_on_the_first_screen():
    first = "".join(PAGES[0].read_text("utf-8").splitlines(keepends=True)[:20])
    for line in ('load_dataset("epbench/long")', 'evaluate.load("episodic_f1")', "launch finetune/sort_lm.py"):
        assert line in first
    assert "](docs/images/profiles.svg)" in first
    assert "](images/memories.svg)" in (ROOT / "docs/tulving.md").read_text("utf-8")


def test_citations_name_this_version():
    version = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"]
    assert version == epbench.__version__ and f"version = {{{version}}}" in PAGES[0].read_text("utf-8")


def test_our_commands_name_flags_that_exist(monkeypatch):
    """Those that need something else are not run, so at least their words must be right."""
    monkeypatch.setenv("COLUMNS", "1000")
    scripts, helps, unknown = commands(), dict[tuple[str, ...], str](), dict[str, set[str]]()
    for command in OURS:
        words = tuple(shlex.split(command.text)[1:])
        kind = words[:2] if words[0] in ("build", "eval", "export") else words[:1]
        if kind not in helps and kind != ("path",):
            name, asked = (kind[:1], kind[1:]) if kind[0] == "export" else (kind, ())
            helps[kind] = script(str(scripts[name].relative_to(ROOT)), *asked, "--help").stdout
        flags = {word.split("=")[0] for word in words if word.startswith("--")}
        unknown[str(command)] = flags - set(re.findall(r"--[a-z][a-z-]*", helps.get(kind, "")))
    assert not any(unknown.values()), {name: flags for name, flags in unknown.items() if flags}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pages", "left_out"),
    [(PAGES[:1], TAKES_MINUTES), pytest.param(PAGES, re.compile("$^"), marks=pytest.mark.nightly)],
    ids=["README", "all"],
)
def test_every_command_that_needs_nothing_runs_in_its_order(pages, left_out, tmp_path):
    """In a copy of the checkout, by a user with an empty home, after what `make quickstart` does in an environment."""
    checkout, env = tmp_path / "checkout", environment(tmp_path)
    copy_checkout(checkout)
    (checkout / ".venv").symlink_to(BIN.parent)  # the environment is there
    run(["make", "quickstart", "-o", ".venv/.core", "-o", ".venv/bin/pip"], checkout, env)
    check_the_picture(checkout, env)
    write_what_users_have(checkout)
    for page in pages:
        for command in commands_of(page):
            if command.needs is None and not left_out.search(command.text):
                run(["bash", "-c", command.text], checkout, env, str(command))
        run_python(page, checkout, env)


def check_the_picture(checkout: Path, env: dict[str, str]) -> None:
    """The picture of the docs is the one of these runs; another matplotlib may draw it a little differently."""
    shown = (ROOT / PICTURE).read_text("utf-8")
    run(["make", "picture"], checkout, env)
    drawn = (checkout / PICTURE).read_text("utf-8")
    by = re.compile(r"<dc:title>Matplotlib [^<]*")
    assert by.search(drawn)
    if by.search(drawn)[0] == by.search(shown)[0]:
        assert drawn == shown, "run `make quickstart picture`"


def environment(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "EPBENCH_", "PYTHON"))}
    home = folder / "home"
    home.mkdir()
    ours = {"HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(folder / "checkout/src")}
    return clean | ours | {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "OPENAI_API_KEY": "not-a-real-key"}


def copy_checkout(folder: Path) -> None:
    """The files of the repository, without what was built in it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True).stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def write_what_users_have(checkout: Path) -> None:
    """The files of users that the pages name: texts, an archive, a memory system."""
    from tests.booksort.sort_set import BOOKS, book_text
    from tests.published_data import OURS as archive

    (checkout / "my_texts").mkdir()
    for book, title in BOOKS.items():
        (checkout / "my_texts" / f"{title}.txt").write_text(book_text(book))
    shutil.copy(archive, checkout / "episodic-memory-benchmark.zip")
    example = (ROOT / "src/epbench/memories/example.py").read_text("utf-8").replace("KeywordMemory", "MyMemory")
    (checkout / "my_memory.py").write_text(example, "utf-8")


def run(words: list[str], folder: Path, env: dict[str, str], what: str = "") -> None:
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, f"{what or words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "Traceback" not in done.stderr, what


def run_python(page: Path, folder: Path, env: dict[str, str]) -> None:
    """The blocks of Python of a page, one after the other in one process."""
    code = "\n".join(line for _, lines in blocks(page, "python") for line in lines)
    if code:
        run([str(BIN / "python"), "-c", code], folder, env, f"the Python of {page.name}")
