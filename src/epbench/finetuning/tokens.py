"""The texts that a model is trained on: a book in chunks (Appendix F); texts, questions and conversations as tokens.

Tokens are those of prompts as the model is asked, so that training and asking agree token for token. transformers and trl mark
answers where a chat template has `{% generation %}`, which most templates of models lack; trl then takes a template of its own
where it knows the family of the model, and refuses all others. So messages are found in what is written.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from epbench.errors import BadInput
from epbench.files.text import read_text, shown, whole
from epbench.finetuning.packing import Kind, Sample
from epbench.models.hf.checkpoint import load_tokenizer, read_window
from epbench.models.hf.prompt_tokens import PromptTokens, answer_head
from epbench.models.protocol import Request

_log = logging.getLogger(__name__)


def chunks_of(words: Sequence[str], starts: Sequence[int], n_words: int = 5000) -> list[range]:
    """Divide a text into consecutive chunks that end where a sentence ends; no word is lost or comes twice.

    The text is divided evenly, into chunks of at most a tenth more than `n_words`: 5,300 words are one chunk, and 10,400 are two
    of about 5,200. Each cut is then moved to the nearest of `starts`, the words that begin a sentence. If there is none within
    half a chunk, the text is cut inside a sentence, and the log says so. BadInput if `n_words` is less than 1.
    """
    if n_words < 1:
        raise BadInput(f"words in a chunk: expected at least 1, found {n_words}")
    n = len(words)
    n_chunks = max(1, -(-(10 * n - n_words) // (10 * n_words)))
    cuts = [_cut(starts, i, n_chunks, n) for i in range(1, n_chunks)]
    return [range(first, end) for first, end in pairwise([0, *cuts, n])] if n else []


def _cut(starts: Sequence[int], i: int, n_chunks: int, n: int) -> int:
    """Return the index of the word at which chunk i begins: the sentence nearest to i equal parts of n words."""
    even = (2 * i * n + n_chunks) // (2 * n_chunks)
    # What is within reach of one cut is not within reach of the next, so that no chunk is empty.
    low = bisect_right(starts, (2 * i - 1) * n // (2 * n_chunks))
    high = bisect_left(starts, -(-(2 * i + 1) * n // (2 * n_chunks)))
    if low < high:
        return min(starts[low:high], key=lambda start: abs(start * n_chunks - i * n))
    _log.warning("no sentence begins within %d words of word %d, so the text is cut there", n // n_chunks // 2, even)
    return even


def chunk_texts(paragraphs: Sequence[str], starts: Sequence[int], n_words: int = 5000) -> list[str]:
    """Return the text of each of `chunks_of`, with blank lines between paragraphs and single blanks between words.

    A paragraph that is cut goes on in the next chunk. `starts` are counted through the whole text.
    """
    lists = [paragraph.split() for paragraph in paragraphs]
    ends = [0, *accumulate(map(len, lists))]
    words = [word for paragraph_words in lists for word in paragraph_words]
    texts = []
    for chunk in chunks_of(words, starts, n_words):
        inner = ends[bisect_right(ends, chunk.start) : bisect_left(ends, chunk.stop)]
        parts = pairwise([chunk.start, *inner, chunk.stop])
        texts.append("\n\n".join(" ".join(words[first:end]) for first, end in parts if first < end))
    return texts


def paragraphs_of(path: Path) -> list[str]:
    """Return the paragraphs of a text that is never trained, with single blanks between words; BadInput without words."""
    paragraphs = [" ".join(part.split()) for part in read_text(path).split("\n\n") if part.strip()]
    if not paragraphs:
        raise BadInput(f"{path}: expected a text, found no words")
    return paragraphs


Span = tuple[int, int]  # the index of the first character, and the index after the last one
Message = Mapping[str, str]  # a turn of a conversation: its `role` (system, user or assistant) and its `content`

_PLACE = re.compile("\ue000(\\d+)\ue001")  # stands for a message; a template treats it like any other word


def written_turns(prompts: PromptTokens, messages: Sequence[Message]) -> tuple[str, list[Span]]:
    """Write a conversation, and find where each message begins and ends in what was written.

    It is written a second time with other words for the messages, so that it is known what the template adds. White space at
    the ends of a message may be missing. BadInput if the template fails, or changes a message.
    """
    text = prompts.conversation(messages)
    frame = prompts.conversation([{**message, "content": f"\ue000{i}\ue001"} for i, message in enumerate(messages)])
    first, *rest = _PLACE.split(frame)
    numbers, pieces = list(map(int, rest[::2])), rest[1::2]
    spans: dict[int, Span] = {}
    place = len(first)
    for number, piece in zip(numbers, pieces, strict=True):
        content = whole(messages[number]["content"])
        forms = content, content.strip(), content.lstrip(), content.rstrip()
        form = next((form for form in forms if text.startswith(form + piece, place)), None)
        if form is None or number in spans:
            raise BadInput(f"message {number}: the chat template changes it ({shown(content)})")
        spans[number] = place, place + len(form)
        place += len(form) + len(piece)
    missing = sorted(set(range(len(messages))) - set(spans))
    if missing or place != len(text) or not text.startswith(first):
        raise BadInput(
            f"message {missing[0] if missing else len(messages) - 1}: the chat template does not write all of it"
        )
    return text, [spans[number] for number in range(len(messages))]


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text."""

    text: str
    ids: list[int]  # the id of each token
    starts: Sequence[int]  # for each token, the index of its first character
    ends: Sequence[int]  # for each token, the index after its last character
    # The ids of the marks that were added to the vocabulary of pieces of words, such as special tokens.
    marks: Container[int]

    def within(self, span: Span) -> range:
        """Return the positions of the tokens that have a character of the span."""
        return range(bisect_right(self.ends, span[0]), bisect_left(self.starts, span[1]))

    def mark_behind(self, place: int) -> int | None:
        """Return the position of the mark at or behind a character, with at most white space between, if there is one."""
        behind = range(bisect_left(self.starts, place), len(self.ids))
        first = next(filter(self._shows, behind), None)
        return first if first is not None and self.ids[first] in self.marks else None

    def last(self) -> int | None:
        """Return the position of the last token that is more than white space, if there is one."""
        return next(filter(self._shows, reversed(range(len(self.ids)))), None)

    def _shows(self, i: int) -> bool:
        return bool(self.text[self.starts[i] : self.ends[i]].strip())


def tokenised(tokenizer: Any, text: str) -> Tokens:
    """Return the tokens of a text that holds its own special tokens."""
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    starts, ends = zip(*encoded["offset_mapping"], strict=True) if encoded["input_ids"] else ((), ())
    return Tokens(text, list(encoded["input_ids"]), starts, ends, tokenizer.added_tokens_decoder)


def check_spelling(marks: re.Pattern[str], messages: Sequence[Message]) -> None:
    """Refuse a message that spells a mark: as a token it would end the turn or the text, whatever was meant by it."""
    for number, message in enumerate(messages):
        if mark := marks.search(message["content"]):
            raise BadInput(
                f"message {number} ({message['role']}), character {mark.start()}: expected plain text, found "
                f"{shown(mark[0])}, which is a special token of this model"
            )


Learn = Literal["all", "text"]
"""Whether every token is learned, or only the book's text and the answers, with the tokens that end them."""


class SampleTokens:
    """Turns texts into samples with one fast tokenizer of transformers, which knows where each token stands in a text.

    A sample begins as a prompt does, and ends with a token that ends a turn or a text; if the chat template writes none,
    it is the tokenizer's own. `max_length` is the largest number of tokens of a reading or a question; None for no limit.
    Nothing is ever cut. BadInput if the tokenizer is not a fast one; of each method also if a message spells a special token,
    such as `<|im_end|>`, which tokenizers do not tell from a real one, the chat template fails or changes a message, or no
    token ends a text.
    """

    def __init__(self, tokenizer: Any, max_length: int | None = None) -> None:
        self._name = getattr(tokenizer, "name_or_path", "")
        if not getattr(tokenizer, "is_fast", False):
            raise BadInput(
                f"model {self._name}: expected a fast tokenizer, which knows the places of its tokens in a text, found "
                f"{type(tokenizer).__name__}"
            )
        self.tokenizer, self.max_length = tokenizer, max_length
        self.prompts = PromptTokens(tokenizer)

    def reading(self, id: str, kind: Kind, system: str, user: str, text: str, learn: Learn) -> Sample:
        """Return a text that the model reads: a system message, which may be empty, and a user message, and no answer.

        `text` is the part of the user message that is the book's own; if it occurs several times, the last counts. It is
        learned with the token at the end, or all tokens are. BadInput if the text is blank or not in the user message, or the
        sample is longer than `max_length`.
        """
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": user})
        with _naming(id):
            tokens, spans, ids, last = self._written(messages)
            passage = whole(text).strip()
            at = tokens.text.rfind(passage, *spans[-1])
            if at < 0 or not passage:
                raise BadInput(f"expected the text as a part of the user message, found {shown(text)}")
            learned = {*tokens.within((at, at + len(passage))), last}
            sample = _sample(id, kind, self.prompts.begin, ids, learned if learn == "text" else range(len(ids)))
            self._check_length(sample)
        return sample

    def dialogue(self, id: str, messages: Sequence[Message], learn: Learn) -> Sample:
        """Return an example of following instructions, which ends with an answer; it may be longer than `max_length`.

        The answers (none is blank) and the tokens that end them are learned, or all tokens are. BadInput if turns are others.
        """
        with _naming(id):
            roles = [message["role"] for message in messages]
            turns = roles[roles[:1] == ["system"] :]
            if not set(turns) <= {"user", "assistant"} or turns[:1] != ["user"] or turns[-1] != "assistant":
                listed = ", ".join(roles[:8]) or "nothing"
                raise BadInput(
                    f"expected the roles user, assistant, …, assistant, perhaps after system, found {listed}"
                )
            tokens, spans, ids, last = self._written(messages)
        learned: set[int] = set()
        for message, span in zip(messages, spans, strict=True):
            if message["role"] == "assistant":
                answer, end = tokens.within(span), tokens.mark_behind(span[1])
                learned.update(answer if end is None else range(answer.start, end + 1))
        learned.update(range(tokens.within(spans[-1]).start, last + 1))
        chosen = learned if learn == "text" else range(len(ids))
        return _sample(id, "instruction", self.prompts.begin, ids, chosen)

    def answer(self, id: str, request: Request, answer: str) -> Sample:
        """Return a question with its answer: the prompt as the model is asked, the answer, and the token that ends it.

        What follows the prompt is what the model has to write, and all that is learned. If the request says how the
        answer begins, `answer` goes on there, after a blank. What a template writes between a prompt and an answer, such
        as an empty block of reasoning, stands there too. BadInput if the answer is blank, or the sample is too long.
        """
        with _naming(id):
            if not answer.strip():
                raise BadInput(f"expected an answer, found {shown(answer)}")
            check_spelling(self._marks, [{"role": "assistant", "content": answer}])
            asked, prompt, turn = self.prompts.text(request), self.prompts.ids(request), self._turn
            lead = turn.lead
            if request.answer_start or not self.tokenizer.chat_template:
                lead = "" if asked[-1:].isspace() else " "
            rest = lead + whole(answer).strip() + turn.end
            ids = self._continued(asked, prompt[len(self.prompts.begin) :], rest)
            if turn.end_id is None:
                ids.append(self._eos)
            sample = _sample(id, "question", prompt, ids, range(len(ids)))
            self._check_length(sample)
        return sample

    def _continued(self, text: str, ids: Sequence[int], rest: str) -> list[int]:
        """The ids of what follows a text with its ids: those in the whole, or behind a line feed where a token spans both."""
        line_feed = tokenised(self.tokenizer, "\n").ids
        for before, known in ((text, list(ids)), ("\n", line_feed)):
            joined = tokenised(self.tokenizer, before + rest).ids
            if joined[: len(known)] == known:
                return joined[len(known) :]
        return tokenised(self.tokenizer, rest).ids

    def _check_length(self, sample: Sample) -> None:
        if self.max_length is not None and len(sample.ids) > self.max_length:
            raise BadInput(
                f"found {len(sample.ids):,} tokens, expected at most {self.max_length:,}; nothing is cut: make the text shorter, "
                "or allow longer samples if the model's window is larger"
            )

    def _written(self, messages: Sequence[Message]) -> tuple[Tokens, list[Span], list[int], int]:
        """The tokens of a conversation, where its messages are; and its ids up to an end, and the position of that."""
        check_spelling(self._marks, messages)
        written, spans = written_turns(self.prompts, messages)
        tokens = tokenised(self.tokenizer, written)
        last = tokens.last()
        if last is not None and tokens.ids[last] in (self.tokenizer.eos_token_id, self._turn.end_id):
            return tokens, spans, tokens.ids, last  # white space may follow it
        return tokens, spans, [*tokens.ids, self._eos], len(tokens.ids)

    @cached_property
    def _eos(self) -> int:
        if self.tokenizer.eos_token_id is None:
            raise BadInput(f"model {self._name}: expected a token that ends a text, found none in its tokenizer")
        return int(self.tokenizer.eos_token_id)

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        """The marks that are read as one token each; some templates write those that the tokenizer does not call special."""
        added, ids = self.tokenizer.added_tokens_decoder, set(tokenised(self.tokenizer, self._example[0]).ids)
        marks = {token.content for id_, token in added.items() if token.special or id_ in ids}
        longest_first = sorted(filter(str.strip, marks), key=lambda mark: (-len(mark), mark))
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    @cached_property
    def _example(self) -> tuple[str, list[Span]]:
        turns = (("user", "question"), ("assistant", "answer"))
        return written_turns(self.prompts, [{"role": role, "content": content} for role, content in turns])

    @cached_property
    def _turn(self) -> _Turn:
        written, (_, (start, end)) = self._example
        asked = self.prompts.text(Request("", "", "", "question"))
        within = written.startswith(asked) and len(asked) <= start
        lead = written[len(asked) : start] if within else answer_head(asked)
        tokens = tokenised(self.tokenizer, written)
        mark = tokens.mark_behind(end)
        return _Turn(lead) if mark is None else _Turn(lead, written[end : tokens.ends[mark]], tokens.ids[mark])


def load_sample_tokens(base: str, max_length: int) -> SampleTokens:
    """Load the tokenizer of a model, else `BadInput`; a sample may have as many tokens as its window, at most `max_length`."""
    tokenizer = load_tokenizer(base)
    return SampleTokens(tokenizer, min(max_length, read_window(base, tokenizer) or max_length))


class _Turn(NamedTuple):
    """What stands before the last answer of a conversation and behind it, up to the token that ends it, and its id."""

    lead: str
    end: str = ""
    end_id: int | None = None


def _sample(id: str, kind: Kind, head: Sequence[int], ids: Sequence[int], learned: Container[int]) -> Sample:
    """Put a sample together from ids that are not learned and those behind them, of which some are."""
    flags = [False] * len(head) + [i in learned for i in range(len(ids))]
    flags[0] = False  # nothing comes before it
    return Sample(id, kind, [*head, *ids], flags)


@contextmanager
def _naming(id: str) -> Iterator[None]:
    """Name the sample in messages."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"sample {id}: {error}") from error
