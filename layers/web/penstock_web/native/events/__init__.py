"""Routed events in the native REST API."""
