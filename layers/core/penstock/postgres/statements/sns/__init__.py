"""Statements of SNS: topics, subscriptions, mobile apps, phone numbers, outgoing messages."""
