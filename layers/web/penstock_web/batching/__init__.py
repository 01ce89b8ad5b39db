"""Merges the calls of concurrent requests into one database call."""
