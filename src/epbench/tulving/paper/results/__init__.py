"""The tables and figures of the paper that are about answers: recall by bin, by cue and by trace, order, ranks of runs, and
comparisons of books, of orders and of chunks. Each module makes some of them from the lines of `epbench.tulving.paper.lines`;
read `recall` first, which the others resemble, and then `make`.
"""
