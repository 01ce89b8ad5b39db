"""Converts values of event buses for pages, and the form of a subscriber for requests."""
