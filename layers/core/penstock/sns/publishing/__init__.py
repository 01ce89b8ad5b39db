"""Publishes a message, from its checks to its copies in queues and its deliveries."""
