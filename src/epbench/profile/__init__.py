"""What kind of memory a model or a memory system has: named dimensions over all three benchmarks, side by side.

`plan` says which runs a profile is made of and how much of each a budget buys, `dimensions` what is read from them, and
`page` shows one profile or several.
"""
