"""From chapters to questions: `templates` (the 36 forms), `generate` (all questions with their answers), `selection`."""
