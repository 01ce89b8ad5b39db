"""Statements for SNS, about topics, subscriptions, mobile apps, phone numbers and outgoing messages."""
