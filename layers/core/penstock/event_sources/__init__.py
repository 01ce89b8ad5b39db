"""Event source mappings of AWS Lambda: which function, or URL, gets the messages of a queue in batches.

    types, errors, checks     the API: its members, errors and limits
    operations                create, get, list, update, delete, tags
    targets                   the function or URL of a mapping, and who may name it
    batches                   a batch of messages, by the ordinary receive; what a filter leaves out is deleted
    event, invocation         a batch as the event of AWS, and the request that carries it
    answer                    which messages an answer reports as failed

The worker is in `workers/poll/`.
"""
