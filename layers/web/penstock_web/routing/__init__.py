"""Holds what the routes of the REST API, the console and MCP share: admits requests and runs operations."""
