"""Provides topics and their subscriptions in the REST API."""
