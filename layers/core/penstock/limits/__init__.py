"""Limits of an answer's length, and the estimate of messages' lengths that keeps answers within these limits."""
