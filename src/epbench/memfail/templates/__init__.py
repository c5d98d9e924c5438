"""MemFail rows made from templates, without a model.

Read `rows` (the entry point, and Coexisting-Facts), `bank` (lists and sentence frames), then the other tasks: `conditional`,
`persona`, `long_hop`.
"""
