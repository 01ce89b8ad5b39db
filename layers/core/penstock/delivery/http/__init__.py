"""POST requests to the HTTP(S) endpoints that subscribed, and to the gateway.

    endpoint.py      the URL of an endpoint, parsed strictly
    guard.py         the addresses to which a worker may connect
    resolver.py      names to addresses
    connection.py    one HTTP/1.1 connection
    sender.py        connections, kept and new: a new one goes to the address that was checked
    request.py       headers and body of a delivery
    outcome.py       what an answer means
    carrier.py       an attempt: POST, and what came of it

Requests to Lambda (`delivery/functions`) go over the same connections.
"""
