"""Datasets in the form of the Hub: written, read, installed and uploaded.

In reading order: `dataset_folder` (the Parquet files and README.md of a dataset), `card` (the text of README.md) with
`responsible_use` (a section of it, also for machines), `header` (what a card says, read), `rows` (reading rows from a
folder, the Hub or the cache, with a check of their columns), `install` and `install_metric` (datasets and metrics in the
local caches), `differences` (what publishing would change), `push_plan` and `push` (datasets and metrics on the Hub),
`revision` (the commit that rows belong to).
"""
