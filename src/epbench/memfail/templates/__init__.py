"""MemFail rows made from templates, without a model.

Read `rows` (the entry point, Coexisting-Facts and Long-Hop), `bank` (lists and sentence frames), then the other tasks:
`conditional`, `persona`, `revision`.
"""
