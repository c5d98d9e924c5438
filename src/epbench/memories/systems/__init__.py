"""Memory systems that people install: a class around each, and what has to be installed for it.

Each adapter module is imported in a process of the system's own environment. At its top it imports only the
standard library and `adapter`, what all of them share, so that the run can read its `DEFAULTS`; the system itself is
imported by the constructor. A run copies the folder of a store after each conversation and gives that copy back when it
starts the system again, so no adapter has to recognise or take back what was stored in part. `hosting` starts the process;
`locks` holds the complete list of packages of each environment.

An adapter has

- `DEFAULTS`: the settings that a user can change, by name, with the published evaluation's values.
- a class with the constructor `(folder, settings)`. `settings` holds the defaults or what the user chose instead of
  them, and always `model` (the name to put in requests), `base_url` (of the relay that answers chat and embedding
  requests in OpenAI's form), `api_key` (a placeholder), `embedding_model` and `dimensions`.
- the methods of `epbench.memories.protocol`, and `durable = True`.
"""
