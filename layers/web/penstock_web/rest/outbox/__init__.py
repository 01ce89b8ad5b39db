"""Outgoing messages in the REST API."""
