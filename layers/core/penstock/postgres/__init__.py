"""PostgreSQL: the SQL functions that are called, connections, binary parameters, migrations."""
