"""Metrics of queues: their documents, and the operations that read them."""
