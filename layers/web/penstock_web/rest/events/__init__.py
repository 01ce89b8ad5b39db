"""Routed events in the REST API."""
