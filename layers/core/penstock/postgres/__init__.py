"""Connects to PostgreSQL, calls its SQL functions, interprets its errors, and migrates the schema."""
