"""What the job reads from PostgreSQL and writes there, and the record of its runs."""
