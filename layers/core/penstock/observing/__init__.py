"""Reports about operations, counts workers' work, writes log records, and passes on trace contexts."""
