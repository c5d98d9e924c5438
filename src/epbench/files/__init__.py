"""Files: reading what others wrote, and writing so that nothing is lost.

`text` (reading it, and showing it where it does no harm), `json_files` and `typed` (objects with known fields), `packaged` (data
files of the package), `writing` (files and folders that appear whole, or not at all), `secrets` (which no file may hold), `cache`
(what is used again), and `prompt_packs` (prompts that a user may replace).
"""
