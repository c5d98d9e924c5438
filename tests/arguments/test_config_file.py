"""`--config FILE`: arguments from a file, the command line before it, and one line for whatever is wrong in it."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from epbench import command
from epbench.arguments.config_file import split_off
from epbench.arguments.declaring import argument, parse, parse_given, parser_of
from epbench.errors import BadInput
from tests.scripts.in_process import ROOT, ran, refused, script


@dataclass(frozen=True, kw_only=True)
class Common:
    """Most of what a script might take."""

    dataset: str | None = argument("a dataset", either=True)
    released: Path | None = argument("an archive", either=True)
    out: Path = argument("a folder")
    top_k: int = argument("how many", default=5)
    share: float | None = argument("how much")
    k: list[int] = argument("how many each", flags=["--k", "--memories"], default=[5])
    order: Literal["narrative", "chronological"] = argument("which order", default="narrative")
    keep_order: bool = argument("whether to keep it")
    settings: list[str] = argument("a setting", flags=["--set"], repeated=True, default=[])


@dataclass(frozen=True, kw_only=True)
class Several(Common):
    runs: list[Path] = argument("folders", positional=True, metavar="RUN")


@dataclass(frozen=True, kw_only=True)
class Single(Common):
    runs: Path = argument("a folder", positional=True, metavar="RUN")


@dataclass(frozen=True, kw_only=True)
class WithNames(Several):
    config: list[str] = argument("configs, or all")


def read(*words, kind=Several):
    return parse(kind, "Doc.", words)


GOOD = """\
RUN: [runs/a, runs/b]
dataset: epbench/short
--out: report
top_k: 010
share: 1e-1
memories: [5, 10]
keep-order: true
set: [a=1, b=-2]
order: null
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="run.yaml"):
        (tmp_path / name).write_text(text, "utf-8")
        return str(tmp_path / name)

    return write


def test_a_file_gives_what_the_command_line_could(file):
    from_file, names = parse_given(Several, "Doc.", ["--config", file(GOOD)])
    words = command.command_words()
    given = "runs/a runs/b --dataset epbench/short --out report --top-k 10 --share 0.1 --k 5 10 --keep-order --set a=1"
    assert from_file == read(*given.split(), "--set", "b=-2")
    assert read(*words[2:]) == from_file, "what run.json notes starts the same again"
    assert names == {name: value for name, value in vars(from_file).items() if name not in ("released", "order")}


def test_the_command_line_overrules_the_file(file):
    words = ["--config", file(GOOD), "other", "--top-k", "3", "--k", "1", "--set", "c=4", "--order", "chronological"]
    found, given = parse_given(Several, "Doc.", words)
    assert (found.runs, found.top_k, found.k, found.settings) == ([Path("other")], 3, [1], ["c=4"])
    assert (found.order, found.dataset, found.keep_order) == ("chronological", "epbench/short", True)
    assert read(*command.command_words()[2:]) == found
    assert "order" in given and "released" not in given
    read("runs/a", "--dataset", "d", "--out", "o")
    assert "--keep-order" not in command.command_words(), "a file is forgotten with its command line"


def test_a_single_positional_argument_comes_from_the_file_too(file):
    assert read("--config", file("RUN: a\ndataset: d\nout: o\n"), kind=Single).runs == Path("a")
    assert read("b", "--config", file("run: a\ndataset: d\nout: o\n"), kind=Single).runs == Path("b")
    with pytest.raises(BadInput, match="the following arguments are required: RUN; see --help"):
        read("--dataset", "d", "--out", "o", kind=Single)
    with pytest.raises(BadInput, match="expected one value, got \\['a', 'b'\\]"):
        read("--config", file("run: [a, b]\ndataset: d\nout: o\n"), kind=Single)


def test_values_are_those_that_are_written(file):
    text = "runs: no\ndataset: 1.10\nout: 2026-01-31\nset: yes\n"
    found = read("--config", file(text))
    assert (found.runs, found.dataset, str(found.out), found.settings) == ([Path("no")], "1.10", "2026-01-31", ["yes"])


def test_a_script_with_configs_of_its_own_takes_both(file):
    path = file(GOOD + "config: [hard, easy]\n")
    assert read("--config", path, kind=WithNames).config == ["hard", "easy"]
    assert read("--config", "all", path, kind=WithNames).config == ["all"]
    assert read("--config", path, "--config", "all", kind=WithNames).config == ["all"]
    assert "is a YAML file" in " ".join(parser_of(WithNames, "Doc.").format_help().split())
    assert "YAML file of arguments" in " ".join(parser_of(Several, "Doc.").format_help().split())


@pytest.mark.parametrize(
    ("words", "own", "rest", "path"),
    [
        (["a", "--config", "x.yaml", "b"], False, ["a", "b"], "x.yaml"),
        (["--config=x.yml", "b"], False, ["b"], "x.yml"),
        (["--config", "a", "x.YAML", "b", "--out", "o"], True, ["--config", "a", "b", "--out", "o"], "x.YAML"),
        (["--config"], True, ["--config"], None),
        (["a", "--", "--config", "x.yaml"], False, ["a", "--", "--config", "x.yaml"], None),
    ],
)
def test_the_file_is_found_among_the_words(words, own, rest, path):
    assert split_off(words, own) == (rest, path and Path(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataste: x", "line 1, key 'dataste': there is no such argument; did you mean 'dataset'?"),
        ("config: other.yaml", "line 1, key 'config': there is no such argument"),
        ("out: a\ntop-k: many", "line 2, key 'top-k': expected a whole number, got 'many'"),
        (f"top_k: {10**30}", "key 'top_k': expected a whole number below 2 to the power of 63, got '1000"),
        (f"dataset: {'x' * 1_000_001}", "expected a file of at most 1 MB, found one of 1.0 MB"),
        ("share: [1]", "key 'share': expected one value, got ['1']"),
        ("top_k: 1\ntop-k: 2", "line 2, key 'top-k': this argument is given twice, first in "),
        ("k: []", "key 'k': expected at least one value"),
        ("k: {a: 1}", "key 'k': expected a list of values, got a mapping"),
        ("keep-order: 1", "key 'keep-order': expected true or false, got '1'"),
        ("order: random", "key 'order': expected one of narrative, chronological, got 'random'"),
        ("- a list", "expected a mapping of arguments to values, such as `limit: 20`, found a list"),
        ("", "found nothing"),
        ("a: b: c", "expected YAML (mapping values are not allowed here"),
        ("dataset: d\nreleased: z", "not allowed together with --"),
    ],
)
def test_a_bad_file_is_one_line_that_names_file_and_key(file, text, message):
    path = file(text)
    with pytest.raises(BadInput) as error:
        read("--config", path, "runs/a", "--out", "o")
    assert str(error.value).startswith(path) and message in str(error.value) and "\n" not in str(error.value)


def test_what_excludes_one_another_does_so_across_file_and_command_line(file):
    with pytest.raises(BadInput, match=r"run\.yaml, line 1, key 'dataset': not allowed together with --released"):
        read("--config", file("dataset: d"), "r", "--out", "o", "--released", "z")


def test_a_file_that_is_none_is_refused(file, tmp_path):
    for words, message in [
        (["--config", str(tmp_path / "none.yaml")], "none.yaml: expected a YAML file that can be read (No such file"),
        (["--config", "e250_s20"], "--config: expected a YAML file (.yaml or .yml), got 'e250_s20'"),
        (["--config"], "got 'nothing'"),
        (["--config", file("out: o"), "--config", file("out: p", "2.yaml")], "expected one YAML file of arguments"),
    ]:
        with pytest.raises(BadInput) as error:
            read(*words)
        assert message in str(error.value)
    (tmp_path / "bytes.yaml").write_bytes(b"out: \xff")
    with pytest.raises(BadInput, match="expected YAML"):
        read("--config", str(tmp_path / "bytes.yaml"))


def test_what_neither_gives_is_still_required(file):
    with pytest.raises(BadInput, match="the following arguments are required"):
        read("--config", file("top-k: 3"))
    with pytest.raises(BadInput, match="one of the arguments --dataset --released is required"):
        read("--config", file("out: o\nruns: r"))
    read("--config", file("out: o\nruns: r\ndataset: d"))
    with pytest.raises(BadInput):  # and what one file has given, the next command line has to give
        read("--dataset", "d")


def test_the_example_runs(short_book, tmp_path):
    example = ROOT / "eval_scripts/configs/tulving.yaml"
    out = tmp_path / "run"
    ran("eval_scripts/tulving.py", "--config", example, "--dataset", short_book, "--out", out, "--limit", 9)
    noted = shlex.split((out / "run.json").read_text("utf-8").split('"command": "')[1].split('"')[0])
    assert {"--memory=rag-chapter", "--top-k=5"} <= {*noted} and "--config" not in noted


def test_every_script_says_so_and_refuses_an_unknown_key(file):
    path = file("no-such-key: 1")
    for name in sorted(p for folder in ("builders", "eval_scripts") for p in ROOT.glob(f"{folder}/*.py")):
        name = str(name.relative_to(ROOT))
        asked = ["inspect"] if name.endswith("export.py") else []
        assert "YAML file of arguments" in " ".join(script(name, *asked, "--help").stdout.split()), name
        refused(script(name, *asked, "--config", path), f"{path}, line 1, key 'no-such-key': there is no such argument")
