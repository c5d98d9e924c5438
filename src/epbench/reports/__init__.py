"""What results are shown with: tables for the screen, Markdown and HTML, figures, and the page of a report.

Read `tables` first: every table of the package is a `Table`. `figures` draws with matplotlib, `page` puts tables and figures
into one HTML file, `explorer` shows each question of a run on it, `overview` lists all runs of a folder, and `comparison` makes
the tables, the figures and the page of several runs. `templates` holds the HTML, the style and the scripts of pages.

What a paper shows is declared as an `exhibit` and drawn by `plots`. `reported` reads the numbers that papers report, which
stand beside one's own, and `leaderboard` ranks runs and keeps measured rows.
"""
