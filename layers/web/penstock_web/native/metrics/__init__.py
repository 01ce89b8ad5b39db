"""Metrics in the native REST API."""
