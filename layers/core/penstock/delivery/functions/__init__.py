"""Invokes AWS Lambda functions for event source mappings, subscriptions of functions, and schedules."""
