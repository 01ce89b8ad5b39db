"""Provides moves of messages in the REST API."""
