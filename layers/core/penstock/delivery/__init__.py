"""Delivery of messages to endpoints outside the service."""
