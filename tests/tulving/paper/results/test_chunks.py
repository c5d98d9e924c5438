"""Table 14: who stands in its two parts, and their cells."""

from epbench.exhibits.exhibit import Missing
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results.chunks import chunk_tables
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK, check_record, line_of, plain, text_of


def test_the_two_parts(lines, given):
    memories, chunks = chunk_tables(lines)
    assert (memories.name, chunks.name) == ("Table 14, memories", "Table 14, chunks")
    three, gpt = ["in-context", "rag-paragraph", "rag-chapter"], "gpt-4o-2024-08-06 (released)"
    assert [(row[1], row[3], row[0]) for row in memories.table.rows] == [
        *(("made", "short (ffffffff)", memory) for memory in three),
        *((gpt, CLAUDE_BOOK, memory) for memory in three[:2]),
        *((gpt, GPT_BOOK, memory) for memory in three),
    ]
    assert [row[0] for row in chunks.table.rows] == ["rag-paragraph"] * 3 + ["rag-chapter"] * 2
    for made in (memories, chunks):
        for record in made.records:
            check_record(record, plain(line_of(record, lines), given, get="all", bin=record["bin"]))
    chosen = [line for line in lines if line.memory.startswith("rag")]
    assert [list(row[4:]) for row in chunks.table.rows] == [
        [text_of(plain(line, given, get="all", bin=bin_)) for bin_ in ("0", "1", "2", "3-5")] for line in chosen
    ]


def test_what_cannot_be_made(given):
    assert all(isinstance(made, Missing) for made in chunk_tables(lines_of(Inputs(given.inputs.runs[:1]))))
