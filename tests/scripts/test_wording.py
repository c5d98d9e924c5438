"""`--wording` from the command line: what it prints is what it takes, and it reaches questions, readers and judges."""

from __future__ import annotations

import pytest

from epbench.hub.rows import stored_rows
from tests.scripts.in_process import ran, refused, script


@pytest.mark.parametrize("benchmark", ["tulving", "booksort", "memfail"])
def test_what_is_printed_is_taken_and_is_ours(benchmark, small_sets, tmp_path):
    said = ran("eval_scripts/wording.py", benchmark)
    assert said.startswith("[reader]\n")
    (tmp_path / "mine.toml").write_text(said)
    how = {
        "tulving": "--dataset {}/short --memory none",
        "booksort": "--dataset {}/booksort --memory in-context --model oracle",
        "memfail": "--dataset {}/memfail --config long_hop --system none",
    }[benchmark]
    command = f"eval_scripts/{benchmark}.py {how.format(small_sets)} --limit 4 --out {tmp_path / 'run'}"
    ran(command)
    ran(command, "--wording", tmp_path / "mine.toml")  # it goes on with the run of the first
    (tmp_path / "mine.toml").write_text('[reader]\nsystem = "Other."\n')
    refused(script(command, "--wording", tmp_path / "mine.toml"), "prompts")


def test_a_book_is_asked_about_in_other_words(tmp_path):
    (tmp_path / "mine.toml").write_text('[questions]\n0 = "Where, on {t}?"\n')
    for out, wording in (("ours", ()), ("mine", ("--wording", tmp_path / "mine.toml"))):
        ran("builders/tulving.py", "--book", "short", "--events", 6, *wording, "--out", tmp_path / out)
    ours, mine = (list(stored_rows(str(tmp_path / out / "short"), "qa", "test")) for out in ("ours", "mine"))
    assert [row["id"] for row in ours] == [row["id"] for row in mine]
    other = [row for row, old in zip(mine, ours, strict=True) if row["question"] != old["question"]]
    assert other and all(row["question"] == f"Where, on {row['time']}?" for row in other)
    assert "--wording mine.toml" in (tmp_path / "mine/short/README.md").read_text("utf-8")
    done = script(f"builders/tulving.py --book short --wording {tmp_path / 'none.toml'} --out {tmp_path / 'none'}")
    refused(done, "none.toml: no such file")


def test_a_run_of_memfail_in_other_words_is_verified(small_sets, tmp_path):
    (tmp_path / "mine.toml").write_text('[reader]\nempty = "(nothing)"\n')
    args = ("--dataset", small_sets / "memfail", "--config", "long_hop", "--system", "verbatim-bm25", "--limit", 3)
    ran("eval_scripts/memfail.py", *args, "--wording", tmp_path / "mine.toml", "--out", tmp_path / "run")
    ran("eval_scripts/verify.py", tmp_path / "run", "--prompts", tmp_path / "mine.toml")
