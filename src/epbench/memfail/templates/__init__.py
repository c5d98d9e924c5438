"""MemFail rows made from templates, without a model.

Read `rows` (the entry point, and the tasks that tell facts one by one), `bank` (lists and frames), then `essays`.
"""
