"""Where requests are answered, if not in this process: by several copies of a model, on one machine or on many.

In reading order: `cluster` (the machines, and how many replicas they can hold), `ray_model` (a model that is such replicas, and
which of them gets which requests). Journals are written by the process that asks, and by no other.
"""
