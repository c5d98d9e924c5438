"""`--config FILE`: arguments from a file, the command line before it, and one line for whatever is wrong in it."""

import shlex
from pathlib import Path

import pytest

from epbench import command
from epbench.errors import BadInput
from epbench.starting import command_line
from epbench.starting.parser import split_off
from tests.scripts.in_process import ROOT, refused, script


def make_parser(own_config=False, several_runs=True):
    parser = command.parser("Doc.")
    parser.add_argument("runs", nargs="+" if several_runs else None, type=Path, metavar="RUN", help="folders")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--dataset")
    source.add_argument("--released", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument("--share", type=float)
    parser.add_argument("--k", "--memories", type=int, nargs="+", default=[5])
    parser.add_argument("--order", choices=["narrative", "chronological"], default="narrative")
    parser.add_argument("--keep-order", action="store_true")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    if own_config:
        parser.add_argument("--config", nargs="+", required=True, help="configs, or all")
    return parser


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
    parser = make_parser()
    from_file = parser.parse_args(["--config", file(GOOD)])
    words = command_line.words()
    given = [
        "runs/a",
        "runs/b",
        "--dataset",
        "epbench/short",
        "--out",
        "report",
        "--top-k",
        "10",
        "--share",
        "0.1",
        "--k",
    ]
    given += ["5", "10", "--keep-order", "--set", "a=1", "--set", "b=-2"]
    assert vars(from_file) == vars(parser.parse_args(given))
    assert vars(parser.parse_args(words[2:])) == vars(from_file), "what run.json notes starts the same again"
    assert command.given(parser, ["--config", file(GOOD)]) == {*vars(from_file)} - {"released", "order"}


def test_the_command_line_overrules_the_file(file):
    parser = make_parser()
    words = ["--config", file(GOOD), "other", "--top-k", "3", "--k", "1", "--set", "c=4", "--order", "chronological"]
    found = parser.parse_args(words)
    assert (found.runs, found.top_k, found.k, found.settings) == ([Path("other")], 3, [1], ["c=4"])
    assert (found.order, found.dataset, found.keep_order) == ("chronological", "epbench/short", True)
    assert vars(parser.parse_args(command_line.words()[2:])) == vars(found)
    assert "order" in command.given(parser, words) and "released" not in command.given(parser, words)
    parser.parse_args(["runs/a", "--dataset", "d", "--out", "o"])
    assert "--keep-order" not in command_line.words(), "a file is forgotten with its command line"


def test_a_single_positional_argument_comes_from_the_file_too(file):
    parser = make_parser(several_runs=False)
    assert parser.parse_args(["--config", file("RUN: a\ndataset: d\nout: o\n")]).runs == Path("a")
    assert parser.parse_args(["b", "--config", file("run: a\ndataset: d\nout: o\n")]).runs == Path("b")
    with pytest.raises(SystemExit):
        parser.parse_args(["--dataset", "d", "--out", "o"])


def test_values_are_those_that_are_written(file):
    text = "runs: no\ndataset: 1.10\nout: 2026-01-31\nset: yes\n"
    found = make_parser().parse_args(["--config", file(text)])
    assert (found.runs, found.dataset, str(found.out), found.settings) == ([Path("no")], "1.10", "2026-01-31", ["yes"])


def test_a_script_with_configs_of_its_own_takes_both(file):
    parser = make_parser(own_config=True)
    path = file(GOOD + "config: [hard, easy]\n")
    assert parser.parse_args(["--config", path]).config == ["hard", "easy"]
    assert parser.parse_args(["--config", "all", path]).config == ["all"]
    assert parser.parse_args(["--config", path, "--config", "all"]).config == ["all"]
    assert "is a YAML file" in " ".join(parser.format_help().split())
    assert "YAML file of arguments" in " ".join(make_parser().format_help().split())


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
        ("help: true", "line 1, key 'help': there is no such argument"),
        ("config: other.yaml", "line 1, key 'config': there is no such argument"),
        ("out: a\ntop-k: many", "line 2, key 'top-k': expected a whole number, got 'many'"),
        ("share: nan", "key 'share': expected a finite number, got 'nan'"),
        (f"top_k: {10**30}", "key 'top_k': expected a whole number below 2 to the power of 63, got '1000"),
        (f"dataset: {'x' * 1_000_001}", "expected a file of at most 1 MB, found one of 1.0 MB"),
        ("share: [1]", "key 'share': expected one value, got ['1']"),
        ("share: x", "key 'share': expected a number, got 'x'"),
        ("top_k: 1\ntop-k: 2", "line 2, key 'top-k': this argument is given twice, first in "),
        ("top_k: 1.5", "expected a whole number, got '1.5'"),
        ("k: []", "key 'k': expected at least one value"),
        ("k: {a: 1}", "key 'k': expected a list of values, got a mapping"),
        ("k: [[1]]", "key 'k': expected a list of values, got a list"),
        ("keep-order: 1", "key 'keep-order': expected true or false, got '1'"),
        ("order: random", "key 'order': expected one of narrative, chronological, got 'random'"),
        ("- a list", "expected a mapping of arguments to values, such as `limit: 20`, found a list"),
        ("", "found nothing"),
        ("word", "found one value"),
        ("a: b: c", "expected YAML (mapping values are not allowed here"),
        ("dataset: d\nreleased: z", "not allowed together with --"),
    ],
)
def test_a_bad_file_is_one_line_that_names_file_and_key(file, text, message):
    path = file(text)
    with pytest.raises(BadInput) as error:
        make_parser().parse_args(["--config", path, "runs/a", "--out", "o"])
    assert str(error.value).startswith(path) and message in str(error.value) and "\n" not in str(error.value)


def test_what_excludes_one_another_does_so_across_file_and_command_line(file):
    with pytest.raises(BadInput, match=r"run\.yaml, line 1, key 'dataset': not allowed together with --released"):
        make_parser().parse_args(["--config", file("dataset: d"), "r", "--out", "o", "--released", "z"])


def test_a_file_that_is_none_is_refused(file, tmp_path):
    for words, message in [
        (["--config", str(tmp_path / "none.yaml")], "none.yaml: expected a YAML file that can be read (No such file"),
        (["--config", "e250_s20"], "--config: expected a YAML file (.yaml or .yml), got 'e250_s20'"),
        (["--config"], "got 'nothing'"),
        (["--config", file("out: o"), "--config", file("out: p", "2.yaml")], "expected one YAML file of arguments"),
    ]:
        with pytest.raises(BadInput) as error:
            make_parser().parse_args(words)
        assert message in str(error.value)
    (tmp_path / "bytes.yaml").write_bytes(b"out: \xff")
    with pytest.raises(BadInput, match="expected YAML"):
        make_parser().parse_args(["--config", str(tmp_path / "bytes.yaml")])


def test_what_neither_gives_is_still_required(file, capsys):
    with pytest.raises(SystemExit):
        make_parser().parse_args(["--config", file("top-k: 3")])
    assert "error: the following arguments are required" in capsys.readouterr().err
    parser = make_parser()
    with pytest.raises(SystemExit):
        parser.parse_args(["--config", file("out: o\nruns: r")])
    assert "one of the arguments --dataset --released is required" in capsys.readouterr().err
    parser.parse_args(["--config", file("out: o\nruns: r\ndataset: d")])
    with pytest.raises(SystemExit):  # and what one file has given, the next command line has to give
        parser.parse_args(["--dataset", "d"])


def test_a_repeated_flag_can_be_told_from_its_default():
    parser = make_parser()
    assert "settings" in command.given(parser, ["r", "--dataset", "d", "--out", "o", "--set", "a=1"])
    assert "settings" not in command.given(parser, ["r", "--dataset", "d", "--out", "o"])


def test_the_example_runs(short_book, tmp_path):
    example = ROOT / "eval_scripts/configs/tulving.yaml"
    out = tmp_path / "run"
    done = script("eval_scripts/tulving.py", "--config", example, "--dataset", short_book, "--out", out, "--limit", 9)
    assert done.returncode == 0, done.stderr
    noted = shlex.split((out / "run.json").read_text("utf-8").split('"command": "')[1].split('"')[0])
    assert {"--memory=rag-chapter", "--top-k=5"} <= {*noted} and "--config" not in noted


def test_every_script_says_so_and_refuses_an_unknown_key(file):
    path = file("no-such-key: 1")
    for name in sorted(p for folder in ("builders", "eval_scripts") for p in ROOT.glob(f"{folder}/*.py")):
        name = str(name.relative_to(ROOT))
        asked = ["inspect"] if name.endswith("export.py") else []
        assert "YAML file of arguments" in " ".join(script(name, *asked, "--help").stdout.split()), name
        refused(script(name, *asked, "--config", path), f"{path}, line 1, key 'no-such-key': there is no such argument")


def test_names_of_configs_stay_beside_a_file(file, tmp_path):
    path = file(f"rows: 5\nout: {tmp_path / 'out'}\n")
    done = script("builders/memfail.py", "--config", "long_hop", path)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "out/memfail").iterdir() if p.is_dir()) == ["long_hop"]


@pytest.mark.slow
def test_runs_for_a_report_come_from_a_file(short_book, file, tmp_path):
    runs = [tmp_path / "none", tmp_path / "in-context"]
    for run in runs:
        done = script(
            "eval_scripts/tulving.py", "--dataset", short_book, "--memory", run.name, "--limit", 5, "--out", run
        )
        assert done.returncode == 0, done.stderr
    path = file(f"runs: [{', '.join(map(str, runs))}]\nout: {tmp_path / 'report'}\n")
    for name in ("report", "compare"):
        done = script(f"eval_scripts/{name}.py", "--config", path)
        assert done.returncode == 0, done.stderr
    done = script("eval_scripts/verify.py", "--config", file(f"run: {runs[0]}\ndataset: {short_book}\n"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["--top_k", "7"], ["--top_k=7"], ["--top-k", "7"]])
def test_flags_are_written_with_hyphens_or_underscores(file, words):
    options = ["runs/a", "--dataset", "d_e", "--out", "report", "--keep_order", *words, "--set=a_b=1"]
    found = make_parser().parse_args(options)
    assert (found.top_k, found.keep_order, found.settings, found.dataset) == (7, True, ["a_b=1"], "d_e")
    with pytest.raises(SystemExit):
        make_parser().parse_args([*options, "--top_kk", "7"])
