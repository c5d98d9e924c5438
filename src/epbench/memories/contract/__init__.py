"""The contract of a memory system: what a benchmark relies on, tried out on any class.

`facts` makes up conversations that can be told apart, `stores` opens stores in folders of their own and talks to the
system as a run does, `checks` has a function for each promise, and `trial` tries them one after the other.
"""
