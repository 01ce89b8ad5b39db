"""Metrics in the REST API."""
