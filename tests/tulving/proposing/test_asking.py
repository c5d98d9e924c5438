"""What a list takes from a reply, and what it asks for next."""

import json

from epbench.tulving.proposing import PER_REQUEST, ROUNDS, Part, Wanted, load_pack

ABOUT = {"theme": "a harbour", "subject": "Gull Count"}


def places(asked=3, needed=2):
    return Wanted("locations", {part: Part(asked, needed) for part in ("quay", "yard")}, ABOUT)


def read(wanted, reply):
    record = {"answer": reply if isinstance(reply, str) else json.dumps(reply)}
    return list(wanted.read(record))


def test_parts_that_a_reply_leaves_out_are_asked_for_again():
    wanted = places()
    assert read(wanted, {"quay": ["Rope  Quay", " Tar Quay"], "pier": ["Long Pier"]}) == [
        {"part": "quay", "text": "Rope Quay"}, {"part": "quay", "text": "Tar Quay"},
    ]  # fmt: skip
    assert wanted.missing == {"yard": 3} and wanted.goes_on
    prompt = wanted.prompt(load_pack())
    assert "places of several kinds" not in prompt
    assert '- "yard": 3\n\nThese are there already; give others:\n["Rope Quay", "Tar Quay"]' in prompt
    read(wanted, {"yard": ["Sail Yard", "Mast Yard"]})
    assert not wanted.missing and not wanted.goes_on  # enough, though fewer than asked for


def test_texts_beyond_the_asked_number_take_the_places_of_refused_ones():
    wanted = places()
    told = read(wanted, {"quay": ["Rope Quay", "rope quay", "Tar Quay", "Salt Quay", "Fog Quay"], "yard": []})
    assert [note["text"] for note in told if "refused" not in note] == ["Rope Quay", "Tar Quay", "Salt Quay"]
    assert [note["text"] for note in told if "refused" in note] == ["rope quay"] and len(wanted.refused) == 1


def test_a_reply_without_the_list_is_refused_as_a_whole():
    wanted = places()
    whole = read(wanted, "no") + read(wanted, {"quay": "Rope Quay"}) + list(wanted.read({"failure": "cut off"}))
    whole += read(wanted, '{"quay": [], "quay": ["Rope Quay"]}')
    assert [note["text"] for note in whole] == [""] * 4 and not any(wanted.kept.values())
    reasons = "no JSON object", "field 'quay': expected a list", "not usable: cut off", "more than once"
    assert all(reason in note["refused"] for note, reason in zip(whole, reasons, strict=True))
    assert wanted.rounds == ROUNDS and not wanted.goes_on


def test_long_lists_are_asked_for_in_batches_with_more_rounds():
    wanted = places(asked=2 * PER_REQUEST + 1, needed=2 * PER_REQUEST + 1)
    assert wanted.missing == {"quay": PER_REQUEST, "yard": PER_REQUEST}
    wanted.rounds = 3 * ROUNDS - 1
    assert wanted.goes_on
    wanted.rounds += 1
    assert not wanted.goes_on
