"""Memory systems: one protocol for every benchmark, calls that cannot break a run, and journals of the results.

Read `protocol` first, then `example`. `load` turns a name into a baseline, a system that is installed, a server, or a class that
somebody else wrote. `guard` calls a system in this process; `process` does so within limits, in a process of its own for each
store, in which `worker` runs, and says what that process can see and reach. `session` fills the stores of a run and puts
the queries to them; `price` reads from the journals what came back and what it cost, and keeps the memories that fit into a
budget of tokens. `between` makes unrelated text that they are told last.

`systems` has the systems that people install. `relay` is the server that passes their requests on to the user's endpoint,
which alone knows the key, or to an embedder on this machine, and journals them. `servers` has the clients of systems without
a class; `example_server` is such a system. `contract` tries out what any system promises, and `measuring` how soon it finds what
it was told, and what it forgets.
"""
