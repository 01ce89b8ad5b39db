"""Serves all actions for requests with the action only in the body or the query string (Query protocol, SNS)."""

from penstock.lambda_runtime.handler import make_gateway_handler

handler = make_gateway_handler()
