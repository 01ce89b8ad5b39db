"""The test server of the pytest fixtures (`penstock.testing`), a separate process with its own PostgreSQL."""
