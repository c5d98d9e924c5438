"""What a paper shows: tables and figures, made from the runs that are given, and written as SVG, CSV and Markdown.

Each table or figure is an `epbench.reports.exhibit.Exhibit`. Read `exhibit` first: one that cannot be made is a `Missing` that
says which run it needs, and `write_exhibits` writes everything into one folder. `reported` reads the numbers that papers report,
which stand beside one's own, and `leaderboard` ranks runs. The benchmarks say what is shown; nothing here knows them.
"""
