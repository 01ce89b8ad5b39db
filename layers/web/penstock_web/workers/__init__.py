"""Implements the container's background workers."""
