"""The limits of queues and messages, and of a response's length, with the estimate of lengths that keeps it."""
