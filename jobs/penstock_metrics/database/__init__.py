"""Reading messages from PostgreSQL, writing windows to it, and the record of runs."""
