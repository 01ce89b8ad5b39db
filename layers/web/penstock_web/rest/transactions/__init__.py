"""Provides transactions in the REST API."""
