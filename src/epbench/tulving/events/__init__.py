"""What a book tells: a universe, the events that are drawn from it, and the layout of the chapter of each event.

In reading order: `universe` (times, spaces, entities and contents, and the events with their layouts), `universe_files` (the
lists as files, ours or a user's own, and the check of names), `dates` (dates as the books write them), `new_york` (a map of the
city, and where its well-known spaces are).
"""
