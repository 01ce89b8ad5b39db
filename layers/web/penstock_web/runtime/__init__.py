"""Connects the container's HTTP server with the database: runs operations and receives, and ends late requests."""
