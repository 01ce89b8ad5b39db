"""Manages the connections of the container to PostgreSQL."""
