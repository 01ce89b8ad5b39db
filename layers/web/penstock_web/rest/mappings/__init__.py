"""Provides event source mappings in the REST API."""
