"""What a process tells of its work: reports of operations, counts of workers, log records, trace contexts."""
