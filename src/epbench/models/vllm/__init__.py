"""Models on vLLM's offline engine. `model` drives the engine; `wire` is what goes into it and what comes out; `variant` is
about revisions and adapters."""
