"""Other words for Book-SORT: the published ones give requests equal to those of the code."""

from __future__ import annotations

import shutil

import pytest
import yaml

from epbench import BadInput
from epbench.booksort.context.prompts import WORDS, load_prompts, read_wording
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import Pair
from epbench.files.prompt_packs import own_wording
from tests.reference_wording import COPIES, copy_of


def pair(answer):
    segments = ("He went {out}.", "She came.")
    return Pair("p", "e250_s20", 1, "A Title", 0, "A text\nof two lines.", 250, 20, segments, (1, 90), 62, answer)


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("zipped", [False, True])
def test_models_are_asked_in_the_words_of_the_code(copy, zipped, tmp_path):
    folder = copy_of(copy, "booksort", tmp_path / "sort")
    place = shutil.make_archive(str(tmp_path / "sort"), "zip", folder.parent, folder.name) if zipped else folder
    pack = read_wording(f"published:{place}")["reader"]
    files = sorted((folder / "sort/evaluation/conf/prompts").iterdir(), key=lambda file: int(file.stem.split("_")[1]))
    word = "Part" if copy == "made" else "Segment"
    assert len(pack.prompts) == len(files)
    for number, file in enumerate(files, 1):
        config = yaml.safe_load(file.read_text())
        for answer in ("A", "B"):
            for memory in ("in-context", "none"):
                (request,) = requests_for(memory, [pair(answer)], pack, number)
                # As `experiment` does it, with the stars and line ends of the published rows.
                first, second = (f"*{segment}*" for segment in pair(answer).shown)
                before = config["pre_excerpt"].replace("<excerpt>", f"*{pair('A').excerpt}*\n\n")
                user = (before if memory == "in-context" else "") + config["post_excerpt"]
                user = user.replace("<segments>", f"{word} A: {first} {word} B: {second}\n")
                for mark, text in (("booktitle", "A Title"), ("tasktype", "first"), ("label_list[0]", "A")):
                    user = user.replace(f"<{mark}>", text)
                assert request.user == user.replace("<label_list[1]>", "B")
                assert (request.system, request.answer_start) == (
                    config["system_prompt"],
                    config["model_answer_prefix"],
                )


def test_our_own_words_change_nothing(tmp_path):
    (tmp_path / "own.toml").write_text(own_wording(WORDS), "utf-8")
    assert read_wording(str(tmp_path / "own.toml")) == {"reader": load_prompts()} and read_wording(None) == {}
    (tmp_path / "mine.toml").write_text('[reader]\nsegments = "{first}{second}\\n"\n')
    assert read_wording(str(tmp_path / "mine.toml"))["reader"].segments == "{first}{second}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[judge]\n", "expected sections [reader], found 'judge'"),
        ('[reader]\nsegments = "{first}"\n', "section 'reader', key 'segments': expected {second} once"),
        ('[reader]\nfull_bok = ""\n', "section 'reader', key 'full_bok': unknown"),
        ("[reader]\nprompts = [[1, 99]]\n", "section 'reader', key 'prompts', number 1: expected a number of tasks"),
    ],
)
def test_what_is_wrong_is_named_with_file_section_and_key(tmp_path, text, message):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        read_wording(str(tmp_path / "mine.toml"))
    assert message in str(error.value) and "mine.toml" in str(error.value)
