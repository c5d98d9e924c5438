"""Training a model on texts, so that its weights are the memory that a benchmark asks.

`texts/` makes samples of texts. `recipe` says how they are trained, `packing` which of them a step of the optimizer sees;
`steps` makes its gradients, `trainer` is the training as a whole, and `checkpoints` what an epoch leaves behind. `run` is the
folder of a run with its journals, `curves` its figure, and `ranks` the processes that train together. `cost`, `memory` and
`speed` say what all of this takes. What is measured after an epoch is the business of the benchmarks, and `measuring/` has
what they share.
"""
