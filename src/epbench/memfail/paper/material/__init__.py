"""Tables 1 to 5 of the paper, about what is tested and with what: the memory systems, the statistics of each dataset's
rows, and the pools that rows are drawn from. They need no run.
"""
