"""Intervals and tests for questions that come in clusters."""
