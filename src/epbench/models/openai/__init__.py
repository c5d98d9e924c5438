"""Models behind OpenAI-compatible endpoints.

Read `model` first, which also has what these models share with those of inspect_ai. `address` is where an endpoint is, `wire`
what is sent and received, and `concurrency` how many requests are open at once and which are tried again.
"""
