"""Provides queues in the REST API."""
