#!/bin/bash
# A run on one machine of Hugging Face Jobs with four GPUs, one replica of the model on each. From the root of the checkout:
#
#     docs/clusters/hf_jobs.sh me/epbench-runs qwen eval tulving --dataset epbench/long --memory in-context \
#         --model vllm:Qwen/Qwen3-8B
#
# The first word is a bucket of your own, the second the name of the run in it. A job that has ended early is given again.
set -euo pipefail
(($# > 2)) || { echo "expected a bucket, the name of the run, and the words that follow epbench" >&2; exit 2; }
BUCKET=$1 RUN=$2
shift 2

rm -rf dist && pip wheel --quiet --no-deps --wheel-dir dist .
# shellcheck disable=SC2016  # the job itself expands these
IN_THE_JOB='
set -euo pipefail
run=$1; shift
pip install --quiet "$(ls /dist/epbench-*.whl)[vllm,ray]"
mkdir -p /tmp/run && cp -r "/runs/$run/." /tmp/run/ 2> /dev/null || true
keep() { mkdir -p "/runs/$run" && cp -r /tmp/run/. "/runs/$run/"; }
trap keep EXIT
(while sleep 300; do keep; done) &
epbench "$@" --data-parallel 4 --out /tmp/run
'
hf jobs run --flavor a100x4 --timeout 8h --secrets HF_TOKEN \
    --volume ./dist:/dist --volume "hf://buckets/$BUCKET:/runs" \
    python:3.12 bash -c "$IN_THE_JOB" epbench "$RUN" "$@"
