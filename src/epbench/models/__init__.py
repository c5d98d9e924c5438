"""Language models behind one small protocol.

Read `protocol` first. `load` turns a name into a model: `hf` runs transformers and `vllm` runs vLLM on this machine,
`openai` calls an endpoint, `inspect_ai` the providers of that harness. All of them share `ending` (which takes thoughts off an
answer and tells answers from failures), `variant` (revisions and adapters) and `fingerprint` (which identifies weights).
`estimate` says in advance what a run costs and whether its prompts fit; `json_replies` reads JSON in replies.
"""
