"""Datasets in the form of the Hub: written, read, installed and uploaded.

In reading order: `dataset_folder` (the Parquet files of a dataset, and its card's files), `croissant` (a card, and what it
says on responsible use for machines), `card` (cards from templates; their headers, read again), `rows` (reading rows from a
folder, the Hub or the cache, with a check of their columns, and which of them a run takes), `install` (datasets and metrics
in the local caches), `differences` (what publishing would change), `push` (datasets and metrics on the Hub).
"""
