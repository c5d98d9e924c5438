"""Memory systems: one protocol for every benchmark, calls that cannot break a run, and journals of the results.

Read `protocol` first, then `example`. `baselines` are the systems to compare with, `user_class` finds a class that
somebody else wrote, and `load` turns a name into either. `guard` calls a system within limits, in a thread; `process`
does so in a process of its own, in which `child` runs and to which it talks by `wire`; `isolation` is what that process
can see and reach. `session` fills the stores of a run and puts the queries to them; `recall` reads from the journals what
came back.

`systems` has the systems that people install, `relay` is what they talk to, and `contract` tries out what any system
promises.
"""
