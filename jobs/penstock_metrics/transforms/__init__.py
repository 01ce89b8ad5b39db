"""Computes metrics of windows from rows of the history, with functions from DataFrames to DataFrames."""
