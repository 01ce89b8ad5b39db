"""Provides a read-only endpoint of the Model Context Protocol at /mcp, with which programs that assist an operator look
at queues."""
