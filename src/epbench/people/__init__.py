"""Questions for people: the page that asks them, and what comes back; a script makes items from questions and verdicts."""
