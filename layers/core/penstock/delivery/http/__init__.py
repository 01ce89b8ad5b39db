"""POST requests to the HTTP(S) endpoints that subscribed, and to the gateway.

    challenge.py     Basic and Digest after a 401
    guard.py         the addresses to which a worker may connect
    resolver.py      converts names to addresses
    connection.py    one HTTP/1.1 connection
    sender.py        kept and new connections: a new one goes to the checked address
    request.py       headers and body of a delivery
    outcome.py       the meaning of an answer
    carrier.py       an attempt: the POST and its outcome

Requests to Lambda (`delivery/functions`) use the same connections.
"""
