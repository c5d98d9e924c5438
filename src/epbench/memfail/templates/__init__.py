"""MemFail rows made from templates, without a model.

Read `rows` (the entry point, and the tasks that tell facts one by one), `bank` (lists and sentence frames), then `essays`, the
tasks that tell them in essays.
"""
