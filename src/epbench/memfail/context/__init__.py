"""What a memory system is told and asked in a MemFail run, and what the reader is shown.

Read `requests` (how a config is run, what the system is told and asked, from what it returns to the reader's requests, and the
reader that goes by rules).
"""
