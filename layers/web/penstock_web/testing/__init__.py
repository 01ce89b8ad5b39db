"""Implements the test server of the pytest fixtures (`penstock.testing`), a separate process with a separate
PostgreSQL."""
