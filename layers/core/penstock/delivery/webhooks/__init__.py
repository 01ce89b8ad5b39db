"""Webhooks: POST requests to the HTTP(S) endpoints that subscribed.

    endpoint.py      the URL of an endpoint, taken apart strictly
    guard.py         which addresses may be dialled
    resolver.py      names to addresses
    connection.py    one HTTP/1.1 connection
    sender.py        connections, kept and new: a new one goes to the address that was checked
    request.py       headers and body of a delivery
    outcome.py       what an answer means: delivered, again in n seconds, given up

The worker that uses them all is `penstock.workers.deliver`.
"""

WEBHOOKS = "webhooks"
"""What `Wake`, and NOTIFY, call the deliveries in place of a queue's ARN (see queue.wake_webhooks)."""
