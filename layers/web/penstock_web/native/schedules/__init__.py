"""Schedules in the native REST API."""
