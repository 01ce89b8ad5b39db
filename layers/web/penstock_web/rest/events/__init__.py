"""Provides routed events in the REST API."""
