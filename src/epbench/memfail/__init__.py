"""MemFail: where does a memory system fail?"""
