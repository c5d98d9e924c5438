"""Tables and figures about answers: without memory, in-context, with retrieval, by book and by distance.

Read `rates` first (an accuracy with its interval and its test), then the modules of the exhibits.
"""
