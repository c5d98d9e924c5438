"""The benchmarks inside the harnesses that people already use, and our runs in their formats.

`inspect` has the tasks for inspect_ai, and `inspect_contexts` what they share with its logs; `lm_eval/` and `lighteval/` are
folders that these harnesses read themselves. What they ask, and what an answer counts for, is in `questions`. `inspect_log` turns
a run into a log of inspect_ai, question by question, with its prompts made again; `eval_results` writes what the page of a model
on the Hub shows. Like a script, this room may use all benchmarks, and nothing in the library imports it.
"""
