"""Schedules in the REST API."""
