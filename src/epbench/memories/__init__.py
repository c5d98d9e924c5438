"""Memory systems: one protocol for every benchmark, calls that cannot break a run, journals of what came back."""
