"""Reads messages from PostgreSQL, writes windows to it, and records runs."""
