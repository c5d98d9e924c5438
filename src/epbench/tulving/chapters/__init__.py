"""From events to chapters: writers, the checks of what they write, and the reports on it.

In reading order: `chapter` (the protocol of writers, and from accepted drafts to a book), `loop` (the rounds, and how a book was
written), `load` (from names to writers), `template_writer`, `model_writer` with its `prompts`, `scene_writer` (chapters
with a plan, without a model), and `checks`.
"""
