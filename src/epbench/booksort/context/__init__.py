"""What a model is shown for a pair, and how it is asked.

Read `prompts` (the prompt pack), `retrieval` (passages, and the search for them), `remembered` (what a memory system is told
and returns, and whether that is the segments), `requests` (the memories, and from pairs to requests), `reader` (who answers: a
model, or a baseline without one).
"""
