"""Admits requests and runs operations for the routes of the REST API, the console and MCP."""
