"""Serves the console, and the REST API below /v1."""

from penstock_web.rest.lambda_function import rest_handler

handler = rest_handler()
