"""Computes metrics of windows from rows of the history: functions from DataFrames to DataFrames."""
