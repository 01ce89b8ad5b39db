"""Event source mappings of AWS Lambda send a queue's messages in batches to a function or URL.

    types, errors, checks     the API: its members, errors and limits
    operations                create, get, list, update, delete, tags
    targets                   the function or URL of a mapping, and the right to name it
    batches                   receives a batch of messages, and deletes those that a filter rejects
    event, invocation         a batch as the event of AWS, and the request that carries it
    answer                    the messages that an answer reports as failed

The worker is in `workers/poll/`.
"""
