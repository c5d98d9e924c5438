import contextlib
import io
import logging
import threading

import pytest

from epbench import BadInput, RunFailed, command, progress


@pytest.mark.parametrize(
    ("raised", "status", "line"),
    [
        (BadInput("file x,\n  row 3"), 2, "error: file x, row 3\n"),
        (RunFailed("all failed"), 1, "error: all failed\n"),
        (PermissionError(13, "Permission denied", "out"), 1, "error: [Errno 13] Permission denied: 'out'\n"),
        (KeyboardInterrupt(), 130, "error: interrupted; give the same command again to resume\n"),
    ],
)
def test_errors_are_one_line_and_a_status(capsys, raised, status, line):
    def main(argv):
        raise raised

    with pytest.raises(SystemExit) as left:
        command.run(main)
    assert left.value.code == status
    assert capsys.readouterr().err == line


def test_wrong_arguments_are_one_line(capsys):
    parser = command.parser("Doc.")
    parser.add_argument("--out", required=True)
    with pytest.raises(SystemExit) as left:
        parser.parse_args([])
    assert left.value.code == 2
    assert capsys.readouterr().err == "error: the following arguments are required: --out; see --help\n"


def test_other_errors_keep_their_traceback():
    def main(argv):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
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
