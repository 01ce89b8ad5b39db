"""Connects the container's HTTP server with the database: this package runs operations and receives, and ends late
requests."""
