"""Language models behind one small protocol.

Read `protocol` first. `load` turns a name into a model of `hf` or `vllm` (on this machine), `openai` (an endpoint) or
`inspect_ai` (the providers of that harness). All of them share `replies`, which tells answers from failures, and `controls`.
`estimate` says in advance what a run costs and whether its prompts fit, and keeps to what it may spend.
"""
