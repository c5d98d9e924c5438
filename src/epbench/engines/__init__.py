"""Where requests are answered, if not in this process: by several copies of a model, on one machine or on many.

In reading order: `cluster` (the machines, how many replicas they can hold, and which of these gets which requests), `ray_model`
(a model that is such replicas). Journals are written by the process that asks, and by no other.
"""
