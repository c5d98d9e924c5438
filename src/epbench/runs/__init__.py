"""Run folders: journal what costs time as it arrives, score from the journal only."""
