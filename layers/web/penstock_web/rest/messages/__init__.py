"""Provides messages, searches, and groups of failures in the REST API."""
