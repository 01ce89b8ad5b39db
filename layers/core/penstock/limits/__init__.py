"""Limits of queues, of messages and of a response's length. The package also estimates the lengths of messages, so that
responses stay within the limit."""
