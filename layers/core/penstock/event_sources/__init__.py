"""Event source mappings of AWS Lambda send a queue's messages in batches to a function or URL.

The worker is in `workers/poll/`.
"""
