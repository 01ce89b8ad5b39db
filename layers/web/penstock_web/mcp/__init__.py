"""Provides a read-only endpoint of the Model Context Protocol at /mcp. Programs that assist an operator inspect queues
through this endpoint.
"""
