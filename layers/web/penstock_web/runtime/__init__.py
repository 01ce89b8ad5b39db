"""Connects the container's HTTP server with the database, by running operations and receives and by ending late
requests."""
