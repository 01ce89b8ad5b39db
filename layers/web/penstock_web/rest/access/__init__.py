"""Provides users and keys in the REST API."""
