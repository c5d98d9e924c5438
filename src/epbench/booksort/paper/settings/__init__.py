"""Tables of the SORT paper about its data, models and prompts (Tables 3 to 10), which need few runs or none.

Each module makes one table or two of one kind: `books`, `bins`, `models`, `prompts`, `chosen` and `queries`. Numbers that the
paper reports come from `data/reported_settings.json`.
"""
