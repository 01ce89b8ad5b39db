"""Defines the documents of messages, converts them to and from SQS's format, and lists, searches and changes
messages."""
