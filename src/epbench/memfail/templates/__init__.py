"""MemFail rows made from templates, without a model.

Read `rows` (the entry point), `bank` (lists and sentence frames), then the four tasks: `conditional`, `coexisting`,
`persona`, `long_hop`.
"""
