"""Where requests are answered, if not at once and in this process: by copies of a model, or by an endpoint within a day.

Read `ray_model` first (replicas in a cluster), then `batches` (an endpoint's batch API). Journals are written by the process that
asks, and by no other.
"""
