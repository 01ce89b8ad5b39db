"""Moves of messages in the REST API."""
