"""What the routes of the REST API, the console and MCP share: they admit requests and run operations."""
