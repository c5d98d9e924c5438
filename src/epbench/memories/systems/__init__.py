"""Memory systems that people install: a class around each, and what has to be installed for it.

Each adapter module is imported in a process of the system's own environment. At its top it imports only the standard
library, so that the run can read its `DEFAULTS`; the system itself is imported by the constructor. `locks` holds the
complete list of packages of each environment.

An adapter has

- `DEFAULTS`: the settings that a user can change, by name, with the published evaluation's values.
- a class with the constructor `(folder, settings)`. `settings` holds the defaults or what the user chose instead of
  them, and always `model` (the name to put in requests), `base_url` (of the relay that answers chat and embedding
  requests in OpenAI's form), `api_key` (a placeholder), `embedding_model` and `dimensions`.
- the methods of `epbench.memories.protocol`, and `durable = True`.
"""
