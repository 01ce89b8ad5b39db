"""Provides deliveries, their attempts and their endpoints in the REST API."""
