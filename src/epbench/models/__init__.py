"""Language models behind one small protocol.

Read `protocol` first. `load` turns a name into a model: `hf` runs transformers and `vllm` runs vLLM on this machine,
`openai` calls an endpoint, `inspect_ai` the providers of that harness. All of them share `replies` (which tells answers from
failures, and reads JSON in them), `controls` (how they generate) and `fingerprint` (which identifies weights). `estimate` says in
advance what a run costs and whether its prompts fit, and keeps to what it may spend.
"""
