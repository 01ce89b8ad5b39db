"""Implements the commands that work on a running service over its REST API (docs/reference/command_line.md)."""
