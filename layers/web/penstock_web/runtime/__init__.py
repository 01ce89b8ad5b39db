"""Connects the container's HTTP server with its database: the driver of operations, receives and deadlines."""
