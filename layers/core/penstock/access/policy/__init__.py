"""Policies: IAM's JSON, evaluated for a caller, an action, a queue or topic, and the circumstances of the request."""
