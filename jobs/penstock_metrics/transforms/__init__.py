"""Computes metrics of windows from rows of the history. A transform is a function from DataFrame to DataFrame."""
