"""Reads messages from PostgreSQL, writes windows, and records runs."""
