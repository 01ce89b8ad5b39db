"""PostgreSQL: statements, connections, array parameters, the meaning of errors, migrations."""
