"""Receives that wait for messages."""
