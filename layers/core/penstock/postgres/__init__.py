"""PostgreSQL: statements, connections, array parameters, errors, migrations."""
