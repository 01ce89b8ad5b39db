"""The native REST API, below /v1."""

from penstock_web.native.application import rest_handler

handler = rest_handler()
