"""Models behind OpenAI-compatible endpoints.

Read `model` first. `address` is where an endpoint is, `wire` what is sent and received, `dialect` what an endpoint wants
written differently, `reply_size` how large a reply may be, `errors` what can go wrong, `concurrency` how many requests are
open at once, and `background` how asynchronous work becomes a plain generator.
"""
