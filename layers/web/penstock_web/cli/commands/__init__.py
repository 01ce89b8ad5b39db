"""Implements the commands that work on a running service over its REST API (docs/command_line.md)."""
