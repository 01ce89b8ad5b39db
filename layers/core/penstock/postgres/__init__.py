"""Implements the use of PostgreSQL, with statements, connections, array parameters, errors and migrations."""
