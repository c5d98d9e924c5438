"""Cases in the format in which those of the code of the paper were recorded, made for these tests and worked by hand.

`with_published` adds the recorded ones where they lie beside the checkout.
"""

from __future__ import annotations

from typing import Any

from tests.published_data import published_cases

_POLICY = "generate_metric(policy=remove_duplicates)"


def _scored(
    case: str, truth: list[str], items: list[str], scores: list[tuple[str, Any]], p: Any, r: Any, f1: float
) -> dict[str, Any]:
    """Truth, items of the answer and scores by name; precision, recall and F1 to expect."""
    return {
        "function": _POLICY,
        "case": case,
        "input": {
            "correct_answer": truth,
            "evaluation": {
                "identified_items_in_AI_answer": items,
                "matching_score": [{name: score} for name, score in scores],
                "explanation": "",
            },
        },
        "output": {"precision_lenient": p, "recall": r, "f1_score_lenient": f1},
    }


def _kendall(
    predicted: list[int], true: list[int], tau: float | str, found: bool, counted: bool = True
) -> dict[str, Any]:
    return {
        "function": "kendall",
        "input": {"predicted_indexes": predicted, "groundtruth_indexes": true},
        "output": {"tau": tau, "counts_as_total_match": found, "included_gt_len_ge_2": counted},
    }


SCORING = [
    _scored("one found", ["oak"], ["oak"], [("oak", 1)], 1.0, 1.0, 1.0),
    _scored("one guessed", ["oak"], ["elm"], [("oak", 0)], 0.0, 0.0, 0.0),
    _scored("one not answered", ["oak"], [], [("oak", 0)], None, 0.0, 0.0),
    _scored("found and not listed", ["oak"], [], [("oak", 1)], None, 1.0, 0.0),
    _scored("nothing to find, nothing said", [], [], [], None, None, 1.0),
    _scored("nothing to find, one said", [], ["elm"], [], 0.0, None, 0.0),
    _scored("nothing to find, two said", [], ["elm", "ash"], [], 0.0, None, 0.0),
    _scored("more said than there are", ["oak", "fir"], ["oak", "fir", "elm"], [("oak", 1), ("fir", 1)], 1.0, 1.0, 1.0),
    _scored("fewer said", ["oak", "fir", "yew", "ash"], ["oak"], [("oak", 1), ("fir", 0), ("yew", 0), ("ash", 0)], 1.0, 0.25, 0.4),
    _scored("half a match", ["oak", "fir"], ["oak", "f"], [("oak", 1), ("fir", 0.5)], 0.75, 0.75, 0.75),
    _scored("three found in one item", ["oak", "fir", "yew"], ["trees"], [("oak", 1), ("fir", 1), ("yew", 1)], 3.0, 1.0, 1.5),
    _scored("a true item twice", ["oak", "fir", "oak"], ["oak", "fir"], [("oak", 1), ("fir", 1), ("oak", 1)], 1.0, 1.0, 1.0),
    _scored("the first score of a repeated item", ["oak", "fir", "oak"], ["fir", "oak"], [("oak", 0), ("fir", 1), ("oak", 1)], 0.5, 0.5, 0.5),
    _scored("a score beyond one", ["oak"], ["oak"], [("oak", 2)], 2.0, 2.0, 2.0),
    _scored("a score below zero", ["oak"], ["oak"], [("oak", -1)], -1.0, -1.0, -1.0),
    _scored("numbers as text", ["oak", "fir"], ["oak", "fir"], [("oak", "1"), ("fir", "0.5")], 0.75, 0.75, 0.75),
    _scored("a boolean", ["oak"], ["oak"], [("oak", True)], 1.0, 1.0, 1.0),
    _kendall([0, 1, 2, 3], [0, 1, 2, 3], 1.0, True),
    _kendall([3, 2, 1, 0], [0, 1, 2, 3], -1.0, True),
    _kendall([0, 2, 1, 3], [0, 1, 2, 3], 2 / 3, True),
    _kendall([1, -1, 1, 0, 7], [0, 1], -1.0, True),
    _kendall([0, 2], [0, 1, 2], 1.0, False),
    _kendall([], [0, 1], "NaN", False),
    _kendall([0], [0], "NaN", True, counted=False),
    {
        "function": "compute_kendall_summarise",
        "input": {"rows": [[[1, 0], [0, 1]], [[0, 1], [0, 1]], [[1], [0, 1]], [[0], [0]]]},
        "output": {"#gt_with_len_2+": 3, "#exact_match_set_gt_with_pred": 2},
    },
]  # fmt: skip

_ON_TIME = "May 07, 2024"
CHECKS = [  # of a chapter of two paragraphs about test_checks.EVENT
    {"case": "as planned", "issues": [], "text": f"(1) High Line: Zoe Brown sat.\n\n(2) On {_ON_TIME} she sang a duet."},
    {"case": "one line feed", "issues": [], "text": f"(1) High Line: Zoe Brown sat.\n(2) On {_ON_TIME} she sang a duet."},
    {"case": "blank lines around", "issues": [], "text": f"\n(1) High Line: Zoe Brown sat.\n\n\n(2) On {_ON_TIME} she sang a duet.\n\n"},
    {"case": "capitals", "issues": [], "text": "(1) HIGH LINE: zoe brown sat.\n\n(2) On MAY 07, 2024 she SANG A DUET."},
    {"case": "twice in one paragraph", "issues": [], "text": f"(1) High Line, High Line: Zoe Brown.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "digits and letters", "issues": [], "text": f"(1) High Line: Zoe Brown met $entity_2nd.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "a possessive", "issues": [], "text": f"(1) High Line: Zoe Brown met $entity_1's aunt.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "a title", "issues": ["paragraphs_nb"], "text": f"Duet\n\n(1) High Line: Zoe Brown.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "no numbers", "issues": ["paragraphs_initials_shape"], "text": f"High Line: Zoe Brown.\n\n{_ON_TIME}, sang a duet."},
    {"case": "no blank", "issues": ["paragraphs_initials_increment"], "text": f"(1)High Line: Zoe Brown.\n\n(2)On {_ON_TIME} she sang a duet."},
    {"case": "two blanks", "issues": ["paragraphs_initials_increment"], "text": f"(1)  High Line: Zoe Brown.\n\n(2) On {_ON_TIME} she sang a duet."},
    {"case": "from two", "issues": ["paragraphs_initials_increment"], "text": f"(2) High Line: Zoe Brown.\n\n(3) On {_ON_TIME} she sang a duet."},
    {"case": "the word", "issues": ["other_entities_shape"], "text": f"(1) High Line: Zoe Brown, a legal entity.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "the word inside", "issues": ["other_entities_shape"], "text": f"(1) High Line: Zoe Brown, a nonentity.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "no dollar", "issues": ["other_entities_shape"], "text": f"(1) High Line: Zoe Brown met entity_1.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "no number", "issues": ["other_entities_shape_integer"], "text": f"(1) High Line: Zoe Brown met $entity_one.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "no date", "issues": ["has_date"], "text": "(1) High Line: Zoe Brown sat.\n\n(2) She sang a duet."},
    {"case": "the kind, not the detail", "issues": ["has_content"], "text": f"(1) High Line: Zoe Brown sat.\n\n(2) Karaoke Night, {_ON_TIME}."},
    {"case": "a date in both", "issues": ["single_date"], "text": f"(1) High Line: Zoe Brown, {_ON_TIME}.\n\n(2) {_ON_TIME}, sang a duet."},
    {"case": "a date too early", "issues": ["correct_date"], "text": f"(1) High Line: Zoe Brown, {_ON_TIME}.\n\n(2) She sang a duet."},
    {"case": "several", "issues": ["has_location", "has_date", "single_entity"], "text": "(1) Zoe Brown sat.\n\n(2) Zoe Brown sang a duet."},
]  # fmt: skip

VERDICTS = [
    {
        "text": '{"1": false, "2": true, "3": true, "4": false}',
        "result": {"location": False, "date": True, "entity": True, "content": False},
    },
    {
        "text": 'My verdict:\n```\n{"1":true,"2":true,"3":true,"4":true}\n```',
        "result": {"location": True, "date": True, "entity": True, "content": True},
    },
    {"text": '{"1": "yes", "2": "yes", "3": "yes", "4": "yes"}', "result": None},
    {"text": '{"1": False, "2": True, "3": True, "4": True}', "result": None},
    {"text": '{"2": true, "3": true, "4": true}', "result": None},
    {"text": "all four are there", "result": None},
    {"text": '{"w": true, "x": true, "y": true, "z": true}', "result": "EXC"},
]

_NAMES = ["Ada Reed", "Ben Moss", "Cleo Hart", "Dan Ives", "Eve Lark"]
SECONDARY = [
    {"chapters": ["$entity_1 and $entity_2.", None, "nobody.", "$entity_1, $entity_2, $entity_3."], "names": _NAMES},
    {"chapters": ["only $entity_3.", "then $entity_1."], "names": _NAMES},
    {"chapters": ["$entity_2 and $entity_7."], "names": _NAMES},
    {"chapters": ["$entity_12 and $entity_1."], "names": _NAMES},
    {"chapters": ["$entity_02."], "names": _NAMES},
]


def with_published(own: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Our cases, and those of the recorded file where it lies beside the checkout."""
    recorded = published_cases(name)
    return own + (recorded["cases"] if isinstance(recorded, dict) else recorded)
