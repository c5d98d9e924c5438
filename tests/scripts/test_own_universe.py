"""A book from a universe of one's own, as a user makes it."""

import shutil

import pytest

from epbench.tulving.events.universe import load_universe
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import scores_of
from tests.tulving.own_universe import EVENTS, PLACES, toml, write_universe

BUILD = "builders/tulving.py"


@pytest.mark.slow
def test_a_short_book_from_an_own_universe_is_a_dataset_like_any_other(tmp_path):
    from datasets import load_dataset

    folder, out = write_universe(tmp_path / "harbour"), tmp_path / "out"
    options = ["--book", "short", "--universe", folder, "--universe-size", 12]
    ran(BUILD, *options, "--out", out)
    assert [path.name for path in out.iterdir()] == ["harbour-short"]
    chapters = load_dataset(str(out / "harbour-short"), "chapters", split="test")
    assert len(chapters) == 20 and set(chapters["location"]) <= set(PLACES) and set(chapters["content"]) <= set(EVENTS)
    assert all(fact in row["text"] for row in chapters for fact in (row["location"], row["entity"], row["detail"][1:]))
    questions = load_dataset(str(out / "harbour-short"), split="test")
    assert len(questions) > 300 and {row["origin"] for row in questions} == {"book", "inner", "outer"}
    card = (out / "harbour-short/README.md").read_text()
    digest = load_universe(str(folder), 12).files_hash
    assert f"the user's own universe `harbour` (hash of its files: `{digest}`)" in card and "license: unknown" in card
    assert "--book short --universe harbour --universe-size 12`" in card and str(tmp_path) not in card

    ran(BUILD, *options, "--order", "chronological", "--out", out)
    assert (out / "harbour-short-ordered/qa").is_dir()
    ran(f"eval_scripts/tulving.py --dataset {out / 'harbour-short'} --memory in-context --out {tmp_path / 'r'}")
    assert scores_of(tmp_path / "r")["simple_recall_score"] > 0.5


def test_the_same_files_under_another_path_write_the_same_bytes(tmp_path):
    folder = write_universe(tmp_path / "one/harbour")
    shutil.copytree(folder, tmp_path / "two/harbour")
    for place in ("one", "two"):
        options = ["--book", "short", "--events", 5, "--universe", tmp_path / place / "harbour", "--universe-size", 12]
        ran(BUILD, *options, "--out", tmp_path / place)
    one, two = (tmp_path / place / "harbour-short" for place in ("one", "two"))
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    assert len(files) == 10 and all((one / file).read_bytes() == (two / file).read_bytes() for file in files)


def test_a_faulty_universe_is_one_line_and_leaves_nothing(tmp_path):
    folder = write_universe(tmp_path / "harbour")
    build = [BUILD, "--book", "short", "--out", tmp_path / "out", "--universe", folder]
    refused(script(*build), "a universe of 100 needs 100 names; ")
    refused(script(*build, "--universe-size", 13, "--events", 170), "170 events")
    (folder / "universe.toml").write_text(toml({"western": ["dusty", "laconic", "wide"]}))
    refused(
        script(*build, "--universe-size", 12), "style 'western': the template writer has no sentences in this style"
    )
    (folder / "universe.toml").write_text(toml(kind='"western"'))
    refused(script(*build), f"{folder / 'universe.toml'}, key 'kind': expected novel, news, scifi, found 'western'")
    refused(
        script(*build[:-1], tmp_path / "habrour"),
        "habrour': expected default, family, news, scifi, software, ward, or a folder with univ",
    )
    assert not (tmp_path / "out").exists()
