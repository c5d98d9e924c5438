"""Memory systems: one protocol for every benchmark, calls that cannot break a run, and journals of the results.

Read `protocol` first, then `example`. `load` turns a name into a baseline, a system that is installed, or a class that
somebody else wrote. `guard` calls a system within limits, in a thread; `process` does so in a process of its own for each
store, in which `worker` runs, and says what that process can see and reach. `session` fills the stores of a run and puts
the queries to them; `recall` reads from the journals what came back. `between` makes unrelated text that they are told last.

`systems` has the systems that people install. `relay` is the server that passes their requests on to the user's endpoint,
which alone knows the key, or to an embedder on this machine; `relay_calls` is the journal of these requests. `remote` turns
an address or a command into a system without a class, whose clients are `http_memory` and `mcp_memory`; `example_server` is such
a server. `price` tells what memory costs, and keeps the memories that fit into a budget of tokens. `contract` tries out what any
system promises, and `measuring` how soon it finds what it was told, and what it forgets.
"""
