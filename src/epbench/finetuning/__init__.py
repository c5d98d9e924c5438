"""Training a model on texts, so that its weights are the memory that a benchmark asks.

`tokens` makes samples of texts, and `instructions` of examples that others publish. `recipe` says how they are trained, `packing`
which of them a step of the optimizer sees; `steps` makes its gradients, and `trainer` is the training as a whole. `run` has the
journals of a run, and what benchmarks share when they measure an epoch; `curves` is its figure, tables and page. `launching` has
the processes that train together, and `cost` says what all of this takes.
"""
