"""Serves the console, and the REST API below /v1."""

from penstock_web.rest.lambda_function import build_rest_handler

handler = build_rest_handler()
