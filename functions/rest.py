"""Serves the REST API, below /v1, and the console."""

from penstock_web.rest.lambda_function import rest_handler

handler = rest_handler()
