"""From chapters to questions: `templates` (the forms), `fake_events` (what questions without an answer are about), `generate`
(all questions with their answers, and which are asked), and `evidence` (causes and states at level 5, and which paragraphs
answer a question).
"""
