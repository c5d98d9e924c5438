"""Flags as fields of dataclasses: what a declaration gives on a command line, and one line for whatever is wrong."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from epbench.arguments import options
from epbench.arguments.declaring import argument, included, parse, parse_subcommand, parser_of
from epbench.errors import BadInput
from tests.scripts.in_process import script


@dataclass(frozen=True, kw_only=True)
class Arguments:
    out: Path = argument("folder")
    share: float | None = argument("how much")
    n: int = argument("how many", default=3, group="numbers")
    backend: options.Backend = included("backend")
    systems: options.System = included()
    passages: options.Retriever = included(top_k=argument("how many passages", default=2, metavar="N"))
    keep_order_of_books: bool = argument("whether to keep it", group="")


def read(*words, kind=Arguments, **more):
    return parse(kind, "Doc.", words, **more)


def test_a_declaration_gives_flag_type_default_and_group():
    args = read("--out", "a_b", "--n=4", "--system-env", "X", "--system-env", "Y", "--in-process")
    assert (args.out, args.share, args.n, args.keep_order_of_books) == (Path("a_b"), None, 4, False)
    assert (args.systems.system_env, args.systems.isolation, args.backend.engine) == (["X", "Y"], "none", "local")
    assert (args.passages.top_k, args.passages.keep_order) == (2, False)
    assert read("--out", "o", "--top_k", "5").passages.top_k == 5
    assert read("--out", "o").systems.system_env == [], "a list of one command line is not that of the next"
    shown = parser_of(Arguments, "Doc.").format_help()
    assert re.search("--keep-order-of-books\n.*numbers:.*--n N .*backend:.*--base-url URL ", shown, re.DOTALL)
    assert "--top-k N             how many passages\n" in shown and "\n  --keep-order          show passages" in shown
    assert "--in-process          the same as --isolation none" in shown


@pytest.mark.parametrize(
    "words", [["--keep_order_of-books", "--system_env", "a_b"], ["--keep-order-of-books", "--system_env=a_b"]]
)
def test_flags_are_written_with_hyphens_or_underscores(words):
    args = read("--out", "o", *words)
    assert args.keep_order_of_books and args.systems.system_env == ["a_b"]
    with pytest.raises(BadInput, match="unrecognized arguments: --keep_orders; see --help"):
        read("--out", "o", *words, "--keep_orders")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--share", "nan"], "argument --share: expected a finite number, got 'nan'"),
        (["--share", "x"], "argument --share: expected a number, got 'x'"),
        (["--n", str(10**30)], f"argument --n: expected a whole number below 2 to the power of 63, got '{10**30}'"),
        (["--n", "1.5"], "argument --n: expected a whole number, got '1.5'"),
        (["--window", "0"], "argument --window: expected at least 1, got 0"),
        (["--engine", "x"], "argument --engine: invalid choice: 'x' (choose from "),
        ([], "the following arguments are required: --out"),
    ],
)
def test_words_that_make_no_sense_are_refused_where_they_are_parsed(words, message):
    with pytest.raises(BadInput) as error:
        read(*words)
    assert str(error.value).startswith(message) and str(error.value).endswith("; see --help")


def test_words_that_no_file_can_hold_are_refused():
    with pytest.raises(BadInput, match=r"argument 'r\\udcff': expected text in utf-8"):
        read("--out", "r\udcff")


@dataclass(frozen=True, kw_only=True)
class Training:
    batch_size: int = argument("samples", default=192)
    learning_rate: float = argument("rate", default=5e-6)
    model: str | None = argument("the model")
    loss: Literal["all", "text"] = argument("what is learned", default="all")
    checkpointing: bool = argument("whether to compute twice", default=True)
    plan: bool = argument("stop")
    pairs: list[str] = argument("some names", default=["one"])


def train(*words, **more):
    return read(*words, kind=Training, underscores=True, **more)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], (True, False)),
        (["--checkpointing", "false", "--plan"], (False, True)),
        (["--checkpointing=False", "--plan", "yes"], (False, True)),
        (["--no_checkpointing", "--plan", "0"], (False, False)),
        (["--no-checkpointing", "--checkpointing", "1"], (True, False)),
    ],
)
def test_trainings_take_their_arguments_as_trainers_do(words, expected):
    args = train(*words)
    assert (args.checkpointing, args.plan) == expected
    shown = parser_of(Training, "Doc.", underscores=True).format_help()
    assert "--learning_rate" in shown and "--no_checkpointing" in shown and "--plan [PLAN]" in shown
    said = "argument --plan: expected true or false|unknown arguments: --nonsense 1; see"
    for wrong in (["--plan", "perhaps"], ["--nonsense", "1"]):
        with pytest.raises(BadInput, match=said):
            train(*wrong)


def test_the_command_line_overrules_the_recipe_and_the_recipe_the_defaults(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("learning_rate: 1e-3\nbatch-size: 7\npairs: [two, three]\ncheckpointing: false\nplan: true\n")
    args = train("--config", str(recipe), "--batch_size", "9")
    assert (args.learning_rate, args.batch_size, args.pairs) == (1e-3, 9, ["two", "three"])
    assert (args.checkpointing, args.plan, args.loss) == (False, True, "all")


@pytest.mark.parametrize("more", [["--model=m"], ["--model", "m"], ["--config", "OTHER"]])
def test_the_toy_is_for_a_command_line_without_a_model_or_a_recipe(tmp_path, more):
    toy, other = tmp_path / "toy.yaml", tmp_path / "other.yaml"
    toy.write_text("batch_size: 7\n")
    other.write_text("learning_rate: 1\n")
    assert train(toy=toy).batch_size == 7
    assert train(*(word.replace("OTHER", str(other)) for word in more), toy=toy).batch_size == 192


@dataclass(frozen=True, kw_only=True)
class Write:
    """write something"""

    out: Path = argument("folder")


def test_a_subcommand_has_arguments_of_its_own(capsys):
    assert parse_subcommand({"write": Write}, "Doc.", ["write", "--out", "o"]) == Write(out=Path("o"))
    with pytest.raises(SystemExit):
        parse_subcommand({"write": Write}, "Doc.", ["--help"])
    assert "    write     write something" in capsys.readouterr().out
    for words, message in (
        ([], "the following arguments are required: WHAT"),
        (["read"], "argument WHAT: invalid choice: 'read'"),
        (["write"], "the following arguments are required: --out"),
    ):
        with pytest.raises(BadInput, match=message):
            parse_subcommand({"write": Write}, "Doc.", words)


@pytest.mark.parametrize("words", [["--help"], ["--n", "3", "-h", "--nonsense"]])
def test_help_is_shown_before_anything_is_missing(words, capsys):
    with pytest.raises(SystemExit) as left:
        read(*words)
    assert not left.value.code
    assert "--out OUT" in capsys.readouterr().out.partition("\n\n")[0]


@pytest.mark.parametrize("name", ["sort_lm", "tulving_qa"])
def test_the_trainings_show_each_flag_with_its_words(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = " ".join(script(f"finetune/{name}.py --help").stdout.split())
    for words in (
        "--learning_rate LEARNING_RATE learning rate of the first step; it falls to 0 along a cosine, without a warm-up",
        "--no_activation_checkpointing compute activations twice",
        "--plan [PLAN] print what it takes, and stop",
        "--config FILE YAML file of arguments",
    ):
        assert words in shown
