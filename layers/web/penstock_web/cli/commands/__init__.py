"""Implements the commands that use the REST API of a running service (docs/reference/command_line.md)."""
