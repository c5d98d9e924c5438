"""Datasets in the form of the Hub: written, read, installed and uploaded.

In reading order: `dataset_folder` (the Parquet files of a dataset, and its card's files), `card` (cards from templates; their
headers, read again), `rows` (reading rows from a folder, the Hub or the cache, with a check of their columns, and which of
them a run takes), `push` (datasets, metrics and finished runs on the Hub, and what publishing would change), `install`
(datasets and metrics in the local caches).
"""
