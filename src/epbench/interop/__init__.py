"""The benchmarks inside the harnesses that people already use, and our runs in their formats.

`inspect` has the tasks for inspect_ai and `inspect_log` turns a run into its log; `lm_eval/` and `lighteval/` are folders that
these harnesses read themselves, with what both need in `tulving_questions` and `booksort_questions`, and `lm_eval_window`
refuses what lm-eval would cut off; `eval_results` writes what the page of a model on the Hub shows. Like a script, this room
may use all benchmarks, and nothing in the library imports it.
"""
