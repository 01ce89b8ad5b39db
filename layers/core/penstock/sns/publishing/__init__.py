"""Publishes a message, from its validation to its copies in queues and its deliveries."""
