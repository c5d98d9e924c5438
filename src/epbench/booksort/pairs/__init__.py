"""Excerpts and pairs of segments are drawn from a book.

Read `bins` (the distances of a pair, and a pair of its own for every excerpt), then `sampling`, which draws all pairs of a
book with its test and validation splits.
"""
