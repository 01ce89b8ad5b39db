"""PostgreSQL and PgBouncer on this machine, for those who have no database at hand: `penstock up` and the tests."""
