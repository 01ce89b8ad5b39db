"""Evaluates IAM policies in JSON for a caller, an action, a resource and the request's condition keys."""
