"""Queues in the REST API."""
