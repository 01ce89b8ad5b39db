"""Implements /mcp, a read-only endpoint of the Model Context Protocol. An operator's assistant inspects queues through
this endpoint.
"""
