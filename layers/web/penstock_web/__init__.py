"""Implements the container's front end: HTTP service, command line and the local PostgreSQL launcher."""
