"""What scripts refuse before anything is done: by the start of a command, the rest of it and words of its one line."""

import pytest

from epbench.booksort.context.requests import MEMORIES
from tests.scripts.in_process import refused, script

FAULTY = "tests/memories/faulty.py"
BY_MODEL = "--source openai:scripted --base-url http://127.0.0.1:9/v1 --window 100000"
REFUSED = {
    "builders/tulving.py": [
        ("--book medium", "unknown book 'medium'; there are: short, long, very-long"),
        (
            "--book short --universe mars",
            "unknown universe 'mars': expected default, family, news, scifi, software, ward",
        ),
        ("--book short --events 20000", "20000 events do not fit into a universe of 100"),
        ("--book short --events 0", "expected at least 1 event, found 0"),
        ("--book short --universe-size 5000", "a universe of 5000 needs 5000 days"),
        ("--book short --writer shakespeare", "unknown writer 'shakespeare'"),
        ("--book short --released nowhere.zip", "nowhere.zip: no such folder or zip"),
    ],
    "builders/memfail.py": [
        ("--config easy", "--config: expected one of conditional_facts_easy"),
        ("--config revision --source hub", "--config revision: it has no published rows"),
        ("--config revision --rows 9999", "rows: templates give at most 3,666 rows of revision, got 9,999"),
        ("--source gpt-4o", "--source: expected template, hub, a folder, or a model (hf:PATH_OR_ID, "),
        ("--source nowhere", "or inspect:PROVIDER/NAME), got 'nowhere'"),
        ("--source . --rows 5", "--rows and --seed work only with templates or a model"),
        ("--plan", "--plan, --prompts, --wording and --max-tokens are for a model"),
        (f"{BY_MODEL} --max-tokens 0", "--max-tokens: expected at least 1, got 0"),
        (f"{BY_MODEL} --rows 101", "rows: expected at most 100 for coexisting_facts, one per category, got 101"),
        (f"{BY_MODEL} --rows 3", "rows: expected at least 5 for long_hop, whose rows share their options, got 3"),
        (f"{BY_MODEL} --prompts nowhere.toml", "nowhere.toml: no such file; expected a prompt pack"),
        ("--source . --hard", "--hard works only with --source template"),
        ("--rows 0", "rows: expected at least 1, got 0"),
        ("--rows 3", "rows: expected at least 5 for long_hop"),
        ("--rows 5000", "rows: templates give at most 1,000 rows of coexisting_facts, got 5,000; ask for fewer"),
        ("--rows many", "--rows: expected a whole number, got 'many'"),
    ],
    "eval_scripts/tulving.py": [("--released no.zip", "no such folder or zip")],
    "eval_scripts/tulving.py --dataset {}/short": [
        ("", "either --memory to ask a reader, or --answers"),
        ("--memory human", "unknown memory 'human'"),
        ("--memory none --model gpt", "unknown model 'gpt'"),
        ("--memory none --shard 3/2", "shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got '3/2'"),
        ("--memory rag-chapter --top-k 0", "top-k: expected at least 1"),
        ("--memory none --limit 0", "limit: expected at least 1, got 0"),
        ("--memory none --dataset tests", "expected the rows of a dataset in qa/test-*.parquet"),
        ("--memory none --dataset epbench/nothing", "epbench/nothing"),
    ],
    "eval_scripts/booksort.py --dataset {}/booksort": [
        ("--model oracle --memory all", f"unknown memory 'all'; there are: {', '.join(MEMORIES)}"),
        ("--memory none --model lexical", "the offline baseline is oracle"),
        ("--model oracle --memory none --prompt 1 --select-prompt", "neither with --prompt"),
        ("--model oracle --memory none --shard 1/2 --select-prompt", "every shard would choose for itself"),
        ("--model oracle --memory none --max-tokens 0", "--max-tokens: expected at least 1, got 0"),
        ("--model oracle --memory rag --query 10", "--query: expected a number from 0 to 9, got 10"),
        ("--model oracle --memory rag --top-k 0", "top_k: expected at least 1, got 0"),
        ("--model oracle --memory rag --retriever google", "unknown retriever 'google'"),
    ],
    "eval_scripts/memfail.py --dataset {}/memfail --config long_hop": [
        ("--system bm25", "unknown memory system 'bm25'; expected one of: none,"),
        (f"--system {FAULTY}:LacksAMethod", "found no retrieve_memories()"),
        ("--system no_such:Memory", "found no module 'no_such'"),
        ("--system none --timeout 0", "timeout: expected a finite number of seconds above 0, got 0"),
        ("--system none --memory-limit 0", "memory limit: expected a finite number of gigabytes above 0, got 0"),
        ("--system none --k 0", "k: expected numbers of at least 1, got 0"),
        ("--system none --judge gpt", "unknown model 'gpt'"),
        ("--system none --config hops", "unknown config 'hops'"),
        ("--system none --limit 0", "limit: expected at least 1, got 0"),
        ("--system none --units-per-conversation 0", "units_per_conversation: expected at least 1, got 0"),
        ("--system none --prompts nowhere.toml", "nowhere.toml: no such file"),
    ],
    "eval_scripts/judge_check.py": [
        ("", "--judge"),
        ("--judge gpt", "unknown model 'gpt'"),
        ("--judge lexical --n 5", "expected at least 20 answers per kind, got 5"),
        ("--judge lexical --book long", "give --released with them"),
        ("--judge lexical --released no.zip", "no such folder or zip"),
        ("--judge lexical --rows 5", "give --benchmark memfail with them"),
    ],
    "eval_scripts/judge_check.py --benchmark memfail --judge lexical --rows 20": [
        ("--config other", "unknown config 'other'"),
        ("--n 5", "expected at least 20 of each, got 5"),
        ("--dataset nowhere-to-be-found", "nowhere-to-be-found"),
        ("--released x.zip", "it goes with --benchmark tulving"),
    ],
}


@pytest.mark.parametrize(
    ("start", "rest", "message"), [(start, *case) for start, cases in REFUSED.items() for case in cases]
)
def test_bad_input_is_one_line_and_leaves_nothing(small_sets, tmp_path, start, rest, message):
    refused(script(f"{start.format(small_sets)} {rest} --out {tmp_path / 'out'}"), message)
    assert not list(tmp_path.iterdir())
