"""The native REST API, below /v1."""

from penstock_web.rest import rest_handler

handler = rest_handler()
