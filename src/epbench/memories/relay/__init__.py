"""Where an installed memory system finds its models: a server on this machine that passes its requests on.

`server` answers the system's requests by the user's endpoint, which alone knows the key, or by an embedder on this
machine. `calls` is the journal of these requests, from which a run tells what storing and retrieving have cost.
"""
