"""What a paper shows: tables and figures, made from the runs that are given, and written as SVG, CSV and Markdown.

Read `exhibit` first: each table or figure is an `Exhibit`, and one that cannot be made is a `Missing` that says which run
it needs. `reported` reads the numbers that papers report, which stand beside one's own. `leaderboard` ranks, and `folder`
writes everything into one folder. The benchmarks say what is shown; nothing here knows them.
"""
