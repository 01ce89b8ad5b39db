"""Provides outgoing messages in the REST API."""
