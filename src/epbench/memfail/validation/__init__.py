"""What in the rows of a dataset limits the meaning of a score.

Read `text_statistics` (what is counted in texts), `by_config` (findings of one config), `shortcuts` (what comparing words
gets right), then `findings`, the whole report, which the card of the dataset shows.
"""
