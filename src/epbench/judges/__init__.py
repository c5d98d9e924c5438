"""Judges, whatever they judge: shared by the benchmarks, which add their own inputs, verdicts, prompts and rules.

Read `replies` first (what is an answer at all), `protocol` (what a judge is), then `model` (how a model is asked for a
verdict), `journal` (how verdicts are kept) and `run_judge` (which judge a run's scores are by).
"""
