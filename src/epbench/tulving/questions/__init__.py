"""From chapters to questions: `templates` (the forms), `generate` (all questions with their answers), `outcomes` (causes and
states at level 5), `selection`, and `evidence` (which paragraphs answer a question)."""
