"""Judges, whatever they judge: shared by the benchmarks, which add their own inputs, verdicts, prompts and rules.

Read `replies` first (what is an answer at all), `protocol` (what a judge is, and how its verdicts are kept) and
`model` (how a model is asked for a verdict).
"""
