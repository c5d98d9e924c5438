"""Training a model on texts, so that its weights are the memory that a benchmark asks.

`texts/` makes samples of texts. `recipe` says how they are trained, `packing` which of them a step of the optimizer sees;
`steps` makes its gradients, and `trainer` is the training as a whole, with the checkpoints that its epochs leave behind. `run`
is the folder of a run with its journals, `curves` its figure, tables and page, and `ranks` the processes that train together.
`cost` and `memory` say what all of this takes. What is measured after an epoch is the business of the benchmarks, and
`measuring` has what they share.
"""
