"""Universes that a model proposes: lists of texts, asked for until enough of them pass the checks of a user's own universe.

In reading order: `asking` (rounds of requests, journaled), `lists` (what is asked for, and what each text must be) and
`universe` (from a theme to the files of a universe). Paper: Appendix B.1.1, Listing 2.
"""
