"""What scripts refuse before anything is done: by the start of a command, the rest of it and words of its one line."""

import pytest

from epbench.booksort.context.requests import MEMORIES
from tests.scripts.in_process import refused, script

FAULTY = "tests/memories/faulty.py"
URL = "http://127.0.0.1:9/v1"
BY_MODEL = f"--source openai:scripted --base-url {URL} --window 100000"
WRITER, CHECKER = f"--writer openai:tiny --base-url {URL}", "--checker openai:sage --checker-window 8192"
MODEL_ARGS = [
    ("--model-args rank=8", "--model-args: expected one of the keys dtype, revision, adapter, enable_thinking"),
    (
        "--model-args dtype=int8",
        "--model-args: expected dtype to be one of auto, float32, bfloat16, float16, got 'int8'",
    ),
    ("--model-args dtype=float32 --dtype float16", "its dtype=float32 contradicts --dtype float16"),
    ("--model-args revision=main", "model lexical: expected no revision, which only hf: and vllm: models have"),
    ("--judge-args adapter=x", "lexical: expected no adapter, which only hf: and vllm: models have"),
    ("--judge-args adapter", "--judge-args: expected KEY=VALUE"),
]
NEEDS_MODEL = "--base-url and --model-args are for a model: name one with --source, got 'template'"
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
        ("--book short --released data.zip --plan", "--plan is for a new book"),
        ("--book short --model-args revision=main", "model template: expected no revision, which only hf: and vllm:"),
        ("--book short --writer lexical", "unknown writer 'lexical': expected template, hf:"),
        ("--book short --checker openai:x", "no model checks the chapters of the writer template"),
    ],
    f"builders/tulving.py --book short {WRITER}": [
        ("--window 8192", "the window of openai:tiny has 8,192; allow fewer tokens for an answer"),
        ("--max-tokens 0", "max_tokens 0: expected at least 1"),
        ("--checker lexical", "unknown checker 'lexical': expected hf:PATH"),
        (f"--window 32768 {CHECKER}", "the window of openai:sage has 8,192; allow fewer tokens for an answer"),
        ("--released data.zip", "--released takes a published book as it is"),
    ],
    f"builders/universe.py --source openai:x --base-url {URL} --theme ferries --name harbour": [
        ("--size 1", "universe of 1: expected at least 2"),
        ("--name ward", "ward: a universe of the package has this name"),
        ("--source lexical", "unknown model 'lexical'"),
        ("--prompts nowhere.toml", "nowhere.toml"),
    ],
    "builders/memfail.py": [
        ("--config easy", "--config: expected one of conditional_facts_easy"),
        ("--config revision --source hub", "--config revision: it has no published rows"),
        ("--config revision --rows 9999", "rows: templates give at most 3,666 rows of revision, got 9,999"),
        ("--source gpt-4o", "--source: expected template, hub, a folder, or a model (hf:PATH_OR_ID, "),
        ("--source nowhere", "or inspect:PROVIDER/NAME), got 'nowhere'"),
        (f"--source template --base-url {URL}", NEEDS_MODEL),
        ("--source template --model-args revision=main", NEEDS_MODEL),
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
    "eval_scripts/tulving.py --dataset {}/short --memory none": [
        *MODEL_ARGS,
        ("--judge gpt", "judge: unknown model 'gpt'"),
        ("--judge hf:no/such-model", "no/such-model"),
        ("--judge lexical --judge-prompts x.toml", "judge lexical: it follows rules and takes no prompts"),
        (f"--judge openai:tiny --judge-url {URL} --judge-prompts x.toml", "x.toml: no such file"),
        (f"--judge openai:tiny --judge-url {URL} --judge-max-tokens 0", "judge max_tokens: expected at least 1, got 0"),
    ],
    "eval_scripts/tulving.py --dataset {0}/short {0}/booksort": [
        ("--rejudge", "--rejudge is about one dataset, got 2"),
        ("--answers x.jsonl", "--answers is about one dataset, got 2"),
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
        ("--system verbatim-bm25 --shard 1/2", "all rows of a config have one common store"),
        ("--system verbatim-bm25 --shard 3/2", "expected i/n with 1 ≤ i ≤ n"),
        ("--system verbatim-bm25 --isolate --shard 0/2", "expected i/n with 1 ≤ i ≤ n"),
        *((f"--system none {rest}", message) for rest, message in MODEL_ARGS),
    ],
    "eval_scripts/system_check.py": [
        ("none", "expected a system, not a baseline"),
        (f"{FAULTY}:Missing", "found no class 'Missing'"),
        ("no_such_module:Memory", "found no module 'no_such_module'"),
        ("none --n 0", "--n and --lag: expected at least 1 and 0, got 0 and "),
        ("none --lag -1", "--n and --lag: expected at least 1 and 0, got 1000 and -1"),
        ("none --forget -1", "got -1"),
        ("none --wait nan", "--wait: expected a finite number, got 'nan'"),
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
