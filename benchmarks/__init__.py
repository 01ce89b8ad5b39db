"""Measures Penstock beside its peers; see README.md in this folder."""
