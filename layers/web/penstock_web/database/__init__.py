"""Connections of the container to PostgreSQL."""
