# quickstart: books, questions, answers, scores on this machine, without a network, key or GPU.
# test: everything that the tests use. Both share one environment, .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Torch first and at one version on every line, or pip takes the newest build with CUDA packages of several GB.
TORCH := torch==2.13.0
OFFLINE := HF_HUB_OFFLINE=1 HF_EVALUATE_OFFLINE=1

.PHONY: quickstart test lint bench cards clean
.DELETE_ON_ERROR:

quickstart: $(VENV)/.core
	$(BIN)/python builders/tulving.py --book short --out out
	$(BIN)/python builders/tulving.py --book long --out out
	$(BIN)/python builders/publish.py out/short out/long --metrics --to cache
	@for memory in in-context rag-chapter rag-paragraph none; do \
	  $(OFFLINE) $(BIN)/python eval_scripts/tulving.py --dataset epbench/long --memory $$memory --model lexical --judge lexical --out runs/long/$$memory || exit 1; \
	done
	$(OFFLINE) $(BIN)/python eval_scripts/report.py runs/long/in-context runs/long/rag-chapter runs/long/rag-paragraph runs/long/none --out runs/long/report

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n 2 -m "not network and not gpu"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	@for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

cards: $(VENV)/.dev
	$(BIN)/python builders/cards.py

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/pip pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev,finetune]" "openai>=2" $(TORCH)
	touch $@

clean:
	rm -rf out runs build dist
