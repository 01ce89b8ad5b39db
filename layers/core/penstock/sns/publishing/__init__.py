"""Publish: from the checks of a message to its copies in queues and its deliveries."""
