"""Deliveries to URLs: those that wait or failed, each attempt, and how endpoints do."""
