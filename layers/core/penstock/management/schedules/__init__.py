"""Schedules: their documents, the checks of the documents, and the operations on schedules."""
