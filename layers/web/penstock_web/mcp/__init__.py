"""A read-only endpoint of the Model Context Protocol at /mcp: programs that assist an operator look at queues."""
