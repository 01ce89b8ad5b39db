"""Schedules: their documents, the checks of those, and the operations on them."""
