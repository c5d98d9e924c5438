"""What progress is told while a model answers."""

from epbench.journals.answers import ask
from epbench.models.protocol import Request
from epbench.tulving.reader.lexical import LexicalReader


def test_answers_of_earlier_starts_are_done_and_a_question_that_is_given_twice_is_one(tmp_path):
    requests = [Request(id_, "", "A book.", f"Who {id_}?") for id_ in "abcde"]
    told = []

    def progress(items, *about):
        told.append((about, [item["id"] for item in items]))
        return ()

    for given, what in ((requests[:2], "answers"), ([*requests, requests[4]], "trials")):
        ask(tmp_path / "answers.jsonl", given, LexicalReader(), progress, what)
    assert told == [(("answers", 2, 0), ["a", "b"]), (("trials", 5, 2), ["c", "d", "e"])]
