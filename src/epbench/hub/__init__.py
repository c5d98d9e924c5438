"""Datasets in the form of the Hub: written, read, installed and uploaded.

In reading order: `dataset_folder` (the Parquet files and README.md of a dataset), `card` (the text of README.md, written and
read) with `responsible_use` (a section of it, also for machines), `rows` (reading rows from a folder, the Hub or the cache,
with a check of their columns), `install` (datasets and metrics in the local caches), `differences` (what publishing would
change), `push` (datasets and metrics on the Hub).
"""
