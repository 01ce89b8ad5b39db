"""Policies: Evaluates IAM's JSON for a caller, an action, a queue or topic, and the circumstances of the request."""
