"""Implements receives that wait for messages."""
