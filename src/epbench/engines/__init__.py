"""Where requests are answered, if not in this process: by several copies of a model, on one machine or on many.

In reading order: `hand_out` (which copy gets which requests; no Ray in it), `replica` (one copy of the model, in a process of
its own), `cluster` (the machines, and how many replicas they can hold), `ray_model` (a model that is such replicas). Journals
are written by the process that asks, and by no other.
"""
