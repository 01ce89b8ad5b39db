"""The audit: acts of users, and refused requests."""
