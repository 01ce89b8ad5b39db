"""Provides background workers of the container, each in a thread."""
