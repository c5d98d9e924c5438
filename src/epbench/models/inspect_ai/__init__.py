"""A model behind any of the providers of inspect_ai, which does the asking, the retries and the waiting.

`model` has the requests of a run answered, and `wire` reads what came back.
"""
