"""From chapters to questions: `templates` (the forms), `generate` (all questions with their answers), `selection`."""
