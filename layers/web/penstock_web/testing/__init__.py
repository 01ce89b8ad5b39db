"""The test server of the pytest fixtures (`penstock.testing`), a process of its own with a PostgreSQL of its own."""
