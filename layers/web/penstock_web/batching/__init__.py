"""Calls of concurrent requests are merged into one."""
