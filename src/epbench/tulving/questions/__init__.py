"""From chapters to questions: `templates` (the forms), `generate` (all questions with their answers, what those without an
answer are about, and which are asked), and `evidence` (causes and states at level 5, and which paragraphs answer a question).
"""
