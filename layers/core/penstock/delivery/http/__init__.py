"""Posts to subscribed HTTP(S) endpoints, and to the gateway.

Requests to Lambda (`delivery/functions`) use the same connections.
"""
