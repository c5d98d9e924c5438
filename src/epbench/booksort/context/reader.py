"""Who answers: a language model, a file of answers, or the oracle, a baseline that looks up both segments in its context.

With the excerpt in context the oracle must always be right. If the context does not have both segments it guesses, and must
be right by chance. It knows nothing but the requests.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from pathlib import Path

from epbench.booksort.context.prompts import Pack
from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import json_objects
from epbench.files.text import read_text
from epbench.files.typed import fields, typed
from epbench.judges.protocol import PEOPLE
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request, RuleBasedReader


class Oracle(RuleBasedReader):
    """Answers by the positions of the segments in the request's context, which it finds by the pack of the requests."""

    name = "oracle"

    def __init__(self, pack: Pack) -> None:
        parts = [
            re.escape(text) + (f"(?P<{field}>.+{'?' if field == 'first' else ''})" if field else "")
            for text, field, _, _ in string.Formatter().parse(pack.segments)
        ]
        self._segments = re.compile("".join(parts), re.DOTALL)

    def answer_to(self, request: Request) -> str:
        """Answer with the label of the segment that comes first in the context."""
        if shown := self._segments.search(request.question):
            words = [shown[name].split() for name in ("first", "second")]
            context, n = _spaced(request.context), len(words[0])  # segments have equally many words; the last may go on
            places = [context.find(f" {' '.join(segment[:n])} ") for segment in words]
            if min(places) >= 0:
                return "A" if places[0] < places[1] else "B"
        return "A" if RandomStream("oracle", request.id).unit() < 0.5 else "B"


READ_ONCE = "read-once"
"""The memory of a run of answers that people gave, as reported rows name it."""

_ANSWER = fields({"id": str, "answer": str}, {"answered_by": str, "person": str})


class OwnAnswers(RuleBasedReader):
    """Answers from elsewhere: those of people, or those of code of one's own.

    `path` is a JSONL file of `{"id", "answer"}`. The id is that of a pair; a second answer to it has `#2` after the id,
    and so on. Lines of people have `"answered_by": "people"`, and the person. BadInput if there is no such file, a line
    is none of these, or an id occurs twice.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.answers, rows = path, dict[str, str](), list(json_objects(str(path), [read_text(path)]))
        for number, row in enumerate(rows):
            typed(f"{path}, row {number}", row, _ANSWER)
            if row["id"] in self.answers:
                raise BadInput(
                    f"{path}, row {number}, field 'id': {row['id']!r} occurs twice; a second answer ends in #2"
                )
            self.answers[row["id"]] = row["answer"]
        by_people = {row.get("answered_by") for row in rows} == {PEOPLE}
        self.n_people = len({row.get("person") for row in rows}) if by_people else 0
        self.name, self.memory = (PEOPLE, READ_ONCE) if by_people else (path.name, "answers")

    def answer_to(self, request: Request) -> str:
        """The answer in the file."""
        return self.answers[request.id]


@lru_cache(maxsize=4)
def _spaced(text: str) -> str:
    """Put single spaces between and around all words."""
    return f" {' '.join(text.split())} "


def load_reader(name: str, pack: Pack, options: Options | None = None) -> Model:
    """Find the reader of this name, `oracle` or a model as `load_model` takes it, without its weights; else BadInput."""
    if name == Oracle.name:
        refuse_variant(name, options)
        return Oracle(pack)
    if name == "lexical":
        raise BadInput(
            "model 'lexical': it answers questions about events and knows nothing of order; the offline baseline is "
            "oracle"
        )
    return load_model(name, options, also=["oracle (offline)"])
