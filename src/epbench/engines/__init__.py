"""Where requests are answered, if not at once and in this process: by copies of a model, or by an endpoint within a day.

In reading order: `cluster` (the machines, how many replicas they can hold, and which of these gets which requests), `ray_model`
(a model that is such replicas), `batches` (an endpoint's batch API). Journals are written by the process that asks, and by no
other.
"""
