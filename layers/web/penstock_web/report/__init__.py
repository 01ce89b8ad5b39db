"""Implements `penstock metrics report`: the results of the metrics job as one self-contained HTML file with charts."""
