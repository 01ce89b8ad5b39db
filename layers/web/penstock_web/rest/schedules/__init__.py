"""Provides schedules in the REST API."""
