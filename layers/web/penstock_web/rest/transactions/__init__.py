"""Transactions in the REST API."""
