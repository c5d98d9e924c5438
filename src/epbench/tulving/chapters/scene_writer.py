"""A writer without a model for level 2 and higher: it tells a scene from its beginning to its end, as the plan says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from epbench.draws import RandomStream
from epbench.progress import Progress
from epbench.tulving.chapters.chapter import Candidate, Description, RuleWriter, Task, shuffled
from epbench.tulving.events.universe import Event, Layout, Universe
from epbench.tulving.levels.plan import ChapterPlan
from epbench.tulving.scenes.patterns import Pronouns, Sentence, capitalised, pronouns_of
from epbench.tulving.scenes.scene_files import (
    TONES,
    PlaceKind,
    Scene,
    load_scenery,
    sentences_of,
    tale_styles,
    tales,
)
from epbench.tulving.scenes.spread import Spread

# The length to reach, in words; a chapter of one paragraph is shorter than one of ten, as at level 1.
WORDS_PER_CHAPTER = 120
WORDS_PER_PARAGRAPH = 42

EVENT_MENTION = 0.35
CLOSING = 0.25

# How often each part is told between the facts, besides what the scene itself tells.
_FILLING = ("scene",) * 9 + ("hero",) * 6 + ("thought",) * 3 + ("air",) * 2 + ("place",) * 2 + ("talk",) * 2
_ABOUT_HERO = ("hero", "thought")
STAYS_WITH_HERO = 0.5


class SceneWriter(RuleWriter):
    """Composes chapters from scenes; the same seed gives the same chapters on any machine."""

    description = Description(
        made="told from the scene of its kind of event (what happens at its beginning, in its middle and at its end) by the "
        "template writer, without a language model",
        limits="The prose is composed of sentences with choices. It is plainer and less varied than a model's.",
    )

    def __init__(self, universe: Universe, *, seed: int = 0) -> None:
        """Prepare the writer for a universe; BadInput if it has no scenes, or if there are no sentences in one of its styles."""
        lacking = "there are no sentences in this style for books of level 2 and higher"
        super().__init__(universe, seed, tale_styles(), lacking)
        self._scenery = load_scenery(universe)
        self._facts = tales(f"facts_{TONES[universe.kind]}")
        self._spread = Spread(1)

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """See `Writer.candidates`; what later chapters may say depends on what earlier ones have said."""
        if tasks and tasks[0].attempt == 0:
            self._spread = Spread(len(tasks))
        return super().candidates(tasks, progress)

    def write(self, task: Task) -> str:
        """Return the text of one candidate."""
        event, layout, plan = task.event, task.layout, task.plan
        assert plan is not None, "books of level 2 and higher have plans"
        draws = RandomStream("scene writer", self._seed, task.number, task.attempt)
        scene, place = self._scenery.scenes[event.content], self._scenery.places[event.space]
        banks = {**self._facts, **tales(f"style_{layout.style}")}
        teller = Teller(scene, place, banks, self._spread, draws, detail=event.detail)
        paragraphs = _Paragraphs(event, layout, plan, teller, draws).told()
        words = pronouns_of(event.first_name)
        return "\n\n".join(
            f"({number}) {resolve(sentences, plan.hero, words, '$entity_', draws)}"
            for number, sentences in enumerate(paragraphs, 1)
        )


class _Paragraphs:
    """The sentences of a chapter by paragraph, with marks for the main character."""

    def __init__(self, event: Event, layout: Layout, plan: ChapterPlan, teller: Teller, draws: RandomStream) -> None:
        self._event, self._layout, self._plan = event, layout, plan
        self._teller, self._draws = teller, draws
        self._words = WORDS_PER_CHAPTER // layout.n_paragraphs + WORDS_PER_PARAGRAPH

    def told(self) -> list[list[str]]:
        n = self._layout.n_paragraphs
        sides = sorted(self._draws.index(n) for _ in self._plan.deeds)
        paragraphs = [
            self._paragraph(number, [i for i, at in enumerate(sides, 1) if at == number - 1])
            for number in range(1, n + 1)
        ]
        text = "".join(sentence for paragraph in paragraphs for sentence in paragraph)
        if not any(mark in text for mark in (HIM, HIS, HIMSELF)):
            paragraphs[-1] += [self._teller.must("hero"), self._teller.must("hero")]  # the second one has a pronoun
        return paragraphs

    def _paragraph(self, number: int, sides: Sequence[int]) -> list[str]:
        """What must be told, and around it the scene as far as it has come."""
        early, late = self._facts(number)
        of_sides = [{"other": f"$entity_{i}", "deed": self._plan.deeds[i - 1]} for i in sides]
        late += [self._teller.must("side", known) for known in of_sides]
        n_words = sum(_length(sentence) for sentence in (*early, *late))
        late += [fixed.text for fixed in self._plan.fixed if fixed.paragraph == number]
        filling: list[str] = []
        follow = ""
        begun = n_words
        while n_words < self._words - 8:
            done = (number - 1 + (n_words - begun) / max(1, self._words - begun)) / self._layout.n_paragraphs
            part = follow or self._draws.pick(_FILLING)
            sentence = self._filling(part, done)
            stays = part in _ABOUT_HERO and self._draws.unit() < STAYS_WITH_HERO
            follow = self._draws.pick(_ABOUT_HERO) if stays else ""
            if sentence:
                filling.append(sentence)
                n_words += _length(sentence)
        for sentence in early:  # from level 3 on, where it stands tells nothing
            latest = len(filling) // 2 if self._plan.level < 3 else len(filling)
            filling.insert(self._draws.between(0, latest), sentence)
        for sentence in late:
            filling.insert(self._draws.between(min(1, len(filling)), len(filling)), sentence)
        if number == self._layout.n_paragraphs or self._draws.unit() < CLOSING:
            filling.append(self._teller.must("closing"))
        return filling

    def _facts(self, number: int) -> tuple[list[str], list[str]]:
        """The sentences on when, where and who, which stand early in a paragraph, and those on what."""
        layout, plan = self._layout, self._plan
        early = []
        if layout.time == number and "date" not in plan.contrasted:
            early.append(self._teller.must("time", {"when": plan.when}))
        if layout.space == number and "location" not in plan.contrasted:
            early.append(self._teller.must("space", {"where": plan.where}))
        if layout.entity == number and "entity" not in plan.contrasted:
            early.append(self._teller.must("name", {"name": plan.name}))
        late = []
        if layout.content == number:
            late.append(self._teller.must("detail", {"deed": self._event.detail_in_sentence}))
        # From level 3 on, what the event is called stands once, or a paragraph of the evidence would be needless.
        if layout.content == number and "content" not in plan.contrasted:
            late.append(self._teller.must("event", {"event": plan.what}))
        elif (
            plan.level < 3
            and self._draws.unit() < EVENT_MENTION
            and (sentence := self._teller.tell("event", {"event": plan.what}))
        ):
            late.append(sentence)
        return early, late

    def _filling(self, part: str, done: float) -> str | None:
        """A sentence of a part; the scene goes on from its beginning to its end."""
        if part == "scene":
            early, late = ("begin", "middle", "end"), ("end", "middle")
            stages = early if done < 0.3 else early[1:] if done < 0.7 else late
            return next(filter(None, map(self._teller.tell, stages)), None)
        if part == "talk":
            if not self._plan.deeds:
                return None
            return self._teller.tell(part, {"other": f"$entity_{self._draws.between(1, len(self._plan.deeds))}"})
        return self._teller.tell(part)


def _length(sentence: str) -> int:
    return sentence.count(" ") + 1


WHO, HIM, HIS, HIMSELF = "\x02", "\x03", "\x04", "\x05"
_MARKS = {"who": WHO, "him": HIM, "his": HIS, "himself": HIMSELF}

PRONOUN = 0.85
"""How often a pronoun is used where it is clear; now and then a name returns, as people write."""


class Teller:
    """Writes the sentences of one chapter, none of them twice."""

    def __init__(
        self,
        scene: Scene,
        place: PlaceKind,
        banks: Mapping[str, Sequence[str]],
        spread: Spread,
        draws: RandomStream,
        *,
        detail: str,
    ) -> None:
        """Prepare the sentences of a scene, of its place, and of banks by what they tell; none of them says the detail."""
        self._detail = detail.lower()
        self._spread, self._draws, self._indoors = spread, draws, place.indoors
        self._texts = {"begin": scene.begin, "middle": scene.middle, "end": scene.end, "place": place.air, **banks}
        self._pools: dict[str, list[Sentence]] = {}
        self._words = {**_MARKS, "people": scene.people}
        self._next = {"thing": shuffled(scene.things, draws), "feature": shuffled(place.features, draws)}

    def tell(self, part: str, known: Mapping[str, str] | None = None) -> str | None:
        """Return the next sentence of a part, with marks for the main character; None if all of them are told.

        A sentence whose words are too frequent in the book is written in other words, or passed over.
        """
        if part not in self._pools:
            self._pools[part] = sentences_of(self._texts[part], self._indoors)
        unsaid = "" if part == "detail" else self._detail
        return self._spread.freshest(self._pools[part], self._fill(known), self._draws, unsaid=unsaid)

    def must(self, part: str, known: Mapping[str, str] | None = None) -> str:
        """Return a sentence of a part that the chapter cannot do without, even if its words are frequent."""
        sentence = self.tell(part, known)
        if sentence is None:  # those passed over may do with other words
            del self._pools[part]
            sentence = self.tell(part, known)
        if sentence is None:
            drawn = self._draws.pick(sentences_of(self._texts[part], self._indoors))
            sentence = self._spread.draft(drawn, self._draws, self._fill(known)).text()
            self._spread.add(sentence)
        return sentence

    def _fill(self, known: Mapping[str, str] | None) -> Callable[[str], str]:
        words = {**self._words, **(known or {})}
        return lambda slot: next(self._next[slot]) if slot in self._next else words[slot]


def resolve(sentences: Sequence[str], first_name: str, words: Pronouns, other: str, draws: RandomStream) -> str:
    """Return a paragraph with names and pronouns in place of the marks; `other` begins those of side characters."""
    resolved, clear = [], False
    for sentence in sentences:
        someone_else = other in sentence
        if WHO in sentence:
            pronoun = clear and not someone_else and draws.unit() < PRONOUN
            sentence = capitalised(_named(sentence, first_name, words, first_is_pronoun=pronoun))
            clear = not someone_else
        else:
            clear = False
        resolved.append(sentence)
    return " ".join(resolved)


_OBJECT = re.compile(
    r"\b(?:of|to|under|in|into|inside|behind|between|from|at|on|by|with|without|against|around|near|beside|past|over|about|upon"
    r"|above|below|toward|towards|after|like|for|saw|heard|gave|struck|let|made|left|took|told|asked|reminded|reached|met|followed"
    r"|watched|worried|handed|warned) $",
    re.IGNORECASE,
)
"""What stands before a mark that is an object; in other places it is the subject of its clause."""


_SAID = re.compile(r"\b(?:\w+ed|said|thought|knew|found|sang|wrote|told) $")
"""A verb before a mark that ends its clause, as in `Luck, thought Amrita, was blind`: there a pronoun is out of date."""


def _named(sentence: str, first_name: str, words: Pronouns, *, first_is_pronoun: bool) -> str:
    """A sentence with the name, or a pronoun in its right form, in place of each mark."""
    before, *rest = sentence.split(WHO)
    for number, after in enumerate(rest):
        possessive = after.startswith(("'s", "’s"))
        subject = _OBJECT.search(before) is None and not possessive
        inverted = after.startswith((",", ".")) and _SAID.search(before)
        if inverted or (number == 0 and not (first_is_pronoun and subject)):
            before += first_name + after
        elif subject:
            pronoun = words.subject.capitalize() if before.endswith((". ", "! ", "? ")) else words.subject
            before += pronoun + after
        else:
            before += words.possessive + after[2:] if possessive else words.object + after
    return before.replace(HIM, words.object).replace(HIS, words.possessive).replace(HIMSELF, words.reflexive)
