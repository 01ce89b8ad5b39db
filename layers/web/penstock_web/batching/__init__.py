"""The calls of concurrent requests are merged into one database call."""
