"""Files: reading what others wrote, and writing so that nothing is lost.

`text` (JSON, and values in messages), `csv_tables` (published CSV files), `packaged` (data files of the package),
`writing` (errors that name their file), `replacing` (a folder that is replaced, or copied, in one step).
"""
