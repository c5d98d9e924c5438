"""First names and pronouns: a pronoun only where it is clear, and in the form that its place in the sentence wants."""

import pytest

from epbench.draws import RandomStream
from epbench.tulving.chapters.scene_writer import HIM, HIMSELF, HIS, WHO, resolve
from epbench.tulving.scenes.patterns import HE, SHE


class Always(RandomStream):
    """Draws that always choose the pronoun."""

    def __init__(self):
        self.unit = lambda: 0.0


def told(*sentences, words=SHE):
    return resolve([one.replace("@", WHO) for one in sentences], "Amrita", words, "$entity_", Always())


def test_a_pronoun_follows_a_sentence_about_the_main_character():
    said = told("@ came.", "@ sat down.", "Rain fell.", "@ left.")
    assert said == "Amrita came. She sat down. Rain fell. Amrita left."


def test_nobody_is_she_where_somebody_else_has_come_in():
    said = told("@ came.", "$entity_1 nudged the table, and @ laughed.", "@ left.")
    assert said == "Amrita came. $entity_1 nudged the table, and Amrita laughed. Amrita left."


@pytest.mark.parametrize(
    ("pattern", "first", "later"),
    [
        ("A part of @ hoped that @ was wrong.", "A part of Amrita hoped that she was wrong.", None),
        ("Under @'s shoe it broke, and @ jumped.", "Under Amrita's shoe it broke, and she jumped.", None),
        ("@ knew that it was after @.", "Amrita knew that it was after her.", "She knew that it was after her."),
        ("@ felt it in @'s hand.", "Amrita felt it in her hand.", "She felt it in her hand."),
        ("Had @ been wrong?", "Had Amrita been wrong?", "Had she been wrong?"),
    ],
)
def test_objects_and_possessives_have_their_own_forms(pattern, first, later):
    assert told(pattern) == first
    assert told("@ came.", pattern) == f"Amrita came. {later or first}"


def test_the_other_marks_have_the_forms_of_the_person():
    said = told(f"@ took {HIS} hat by {HIMSELF}, as it suited {HIM}.", words=HE)
    assert said == "Amrita took his hat by himself, as it suited him."
