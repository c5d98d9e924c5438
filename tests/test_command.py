import contextlib
import io
import logging
import os
import subprocess
import sys
import threading

import pytest

from epbench import BadInput, RunFailed, command, progress
from epbench.errors import install_hint

NO_RAY = ModuleNotFoundError("No module named 'ray'", name="ray.data")


@pytest.mark.parametrize(
    ("raised", "status", "line"),
    [
        (BadInput("file x,\n  row 3"), 2, "error: file x, row 3\n"),
        (RunFailed("all failed"), 1, "error: all failed\n"),
        (PermissionError(13, "Permission denied", "out"), 1, "error: [Errno 13] Permission denied: 'out'\n"),
        (KeyboardInterrupt(), 130, "error: interrupted; give the same command again to resume\n"),
        (NO_RAY, 2, f"error: this needs more libraries (No module named 'ray'); {install_hint('ray')}\n"),
    ],
)
def test_errors_are_one_line_and_a_status(capsys, raised, status, line):
    def main(argv):
        raise raised

    with pytest.raises(SystemExit) as left:
        command.run(main)
    assert left.value.code == status
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("error", [ZeroDivisionError(), ModuleNotFoundError("no epbench.no", name="epbench.no")])
def test_other_errors_keep_their_traceback(error):
    def main(argv):
        raise error

    with pytest.raises(type(error)):
        command.run(main)


def test_what_shows_progress_is_gone_before_an_error_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.001)
    before = threading.enumerate()

    def main(argv):
        letters = command.bar(iter("abc"), "letters", 3)  # which the error leaves in the middle
        next(letters)
        error = BadInput("no such letter")
        error.loop = letters
        raise error

    with pytest.raises(SystemExit):
        command.run(main)
    *lines, last = capsys.readouterr().err.splitlines()
    assert last == "error: no such letter" and all(line.startswith("letters: 0 of 3") for line in lines)
    assert threading.enumerate() == before


def test_the_log_goes_to_standard_error_as_it_is_now_and_only_once(capsys):
    log = logging.getLogger("epbench")
    handlers, level = log.handlers[:], log.level
    try:
        command.show_log()
        command.show_log()
        with contextlib.redirect_stderr(io.StringIO()) as first:
            log.info("one")
        log.info("two [/INST] \x1b[2J")
        assert (first.getvalue(), capsys.readouterr().err) == ("one\n", "two [/INST] \ufffd[2J\n")
    finally:
        log.handlers[:] = handlers
        log.setLevel(level)


SAYS = r"""
import sys
from epbench import command

def main(argv):
    print("caf\u00e9 \u2013 \u4e2d")
    for _ in command.bar(range(2), "answers", 2):
        pass
    command.warn("\u00e9")
    open(argv[0], "w").write("done")

command.run(main, sys.argv[1:])
"""


@pytest.mark.parametrize("closed", [(2,), (1,), (1, 2), (0, 1, 2)])
def test_a_command_works_with_closed_standard_streams(tmp_path, closed):
    close = "import os, sys; [os.close(int(fd)) for fd in sys.argv[1]]; os.execv(sys.executable, [sys.executable, '-c', *sys.argv[2:]])"
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", close, "".join(map(str, closed)), SAYS, out], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert out.read_text() == "done"


def test_an_ascii_terminal_shows_question_marks(tmp_path):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SAYS, tmp_path / "out"], env=os.environ | ascii_only, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"caf? ? ?\n", b"warning: ?\n")
