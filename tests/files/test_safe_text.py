import io
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.table import Table

from epbench import command
from epbench.command import SafeConsole
from epbench.files.text import html_text, markdown_text, one_line, printable

ODD = ["[/INST]", "o[red]x[/red]", "\x1b[2J\x1b]0;owned\x07", "a\x9b31m", ":smile:", "\ud83d", "<b>a|b"]
anything = st.text(st.characters(codec=None), max_size=40)


def _printed(*renderables):
    console = SafeConsole()
    console.file = io.StringIO()
    console.print(*renderables)
    return console.file.getvalue()


@pytest.mark.parametrize("text", ODD)
def test_what_is_printed_is_the_text_itself(text):
    grid = Table(text)
    grid.add_row(text)
    assert _printed(text) == printable(text) + "\n"
    assert _printed(grid).count(printable(text)) == 2


@settings(max_examples=200, deadline=None)
@given(anything)
def test_no_text_reaches_a_terminal_as_anything_but_text(text):
    shown = _printed(text)
    shown.encode()
    assert not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in shown)
    assert printable(printable(text)) == printable(text)
    assert "\n" not in one_line(text)


def test_html_of_a_text_has_no_control_characters():
    assert html_text("<b>\x1b[31m") == "&lt;b&gt;\ufffd[31m"
    assert markdown_text("`x` [a](b)") == "\\`x\\` \\[a\\](b)"


def test_errors_and_warnings_are_one_printable_line(capsys):
    command.warn("one\ntwo \x1b[31m")
    assert capsys.readouterr().err == "warning: one two \ufffd[31m\n"
    code = "from epbench import command, BadInput\ndef main(argv): raise BadInput('a\\x1b]0;x\\x07\\nb [/INST]')\ncommand.run(main)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: a\ufffd]0;x\ufffd b [/INST]\n")
