"""Implements the test server of the pytest fixtures (`penstock.testing`): a process with a separate PostgreSQL."""
