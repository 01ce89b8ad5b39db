"""Runs PostgreSQL and PgBouncer on the local machine, for `penstock up` without DATABASE_URL and for tests."""
