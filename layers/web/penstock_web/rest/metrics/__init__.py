"""Provides metrics in the REST API."""
