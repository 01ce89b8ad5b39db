"""Reports of operations, counts of workers, log records and trace contexts."""
