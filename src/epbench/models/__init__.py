"""Language models behind one small protocol.

Read `protocol` first. `load` turns a name into a model: `hf` runs transformers and `vllm` runs vLLM on this machine,
`openai` calls an endpoint; `rules` is the base of readers without a model. All of them share `reasoning` (which takes
thoughts off an answer), `ending` (which tells answers from failures), `scheduling` (the order of requests), `variant`
(revisions and adapters) and `fingerprint` (which identifies weights). `estimate` says in advance what a run costs and
whether its prompts fit; `json_replies` reads JSON in replies, and `cl100k` counts tokens as papers do.
"""
