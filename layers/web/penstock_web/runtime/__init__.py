"""The container between its HTTP server and its database: the driver of operations, receives, deadlines."""
