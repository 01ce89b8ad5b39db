"""From rows of the history to the metrics of windows: DataFrames in, DataFrames out."""
