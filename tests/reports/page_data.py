"""What the explorer of a page holds, read from the file as a browser reads it."""

import json
import re

FIELDS = "id outcome facets question reference answer verdict reason evidence retrieved trails".split()


def data_of(html):
    """The data of the only explorer in a text of HTML."""
    (found,) = re.findall(r'class="explorer-data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found)


def questions_of(html):
    """A dictionary for each question, its facets by name, with the texts in the place of their numbers."""
    data = data_of(html)
    texts, marks = dict(enumerate(data["texts"])), data["marks"]

    def step(name, state, text, note):
        return name, state, texts.get(text), note

    questions = []
    for values in data["questions"]:
        question = dict(zip(FIELDS, values, strict=True))
        facets = zip(data["facets"], question["facets"], strict=True)
        question["facets"] = {name: of[number] for (name, of), number in facets}
        question["outcome"] = ("right", "wrong", "failed")[question["outcome"]]
        question["evidence"] = [(source, texts[text], marks[number]) for source, text, number in question["evidence"]]
        question["retrieved"] = question["retrieved"] and [texts[number] for number in question["retrieved"]]
        question["trails"] = [(title, [step(*of) for of in steps]) for title, steps in question["trails"]]
        questions.append(question)
    return questions
