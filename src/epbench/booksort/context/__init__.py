"""What a model is shown for a pair, and how it is asked.

Read `prompts` (the prompt pack), `passages` and `retrieved` (the search), `requests` (the memories, and from pairs to
requests), `orders` (every pair in both orders), `prompt_selection` (choosing a prompt on held-out pairs), `identity` (what
tells one run from another), `oracle` (a baseline without a model).
"""
