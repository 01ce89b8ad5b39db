"""Implements `penstock metrics report`, which writes the results of the metrics job as one self-contained HTML file
with charts.
"""
