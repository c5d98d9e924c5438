"""What kind of memory a model or a memory system has: named dimensions over all three benchmarks, side by side.

`presets` says which runs a profile is made of, `dimensions` what is read from them, and `page` shows one profile or several.
"""
