"""Webhooks: POST requests to the HTTP(S) endpoints that subscribed.

    endpoint.py      the URL of an endpoint, parsed strictly
    guard.py         the addresses to which a worker may connect
    resolver.py      names to addresses
    connection.py    one HTTP/1.1 connection
    sender.py        connections, kept and new: a new one goes to the address that was checked
    request.py       headers and body of a delivery
    outcome.py       the outcome of an attempt: delivered, retried in n seconds, given up
    carrier.py       an attempt: POST, and what came of it
    run.py           one run of the worker: claims, posts, writes outcomes
    store.py         webhooks in the database: claimed, settled, expired
    traces.py        attempts as spans

The worker that uses them all is `penstock.workers.deliver`.
"""

WEBHOOKS = "webhooks"
"""The name of the deliveries in `Wake` and NOTIFY, where queues have their ARN (see queue.wake_webhooks)."""
