"""Serves requests of the Query protocol, whose action is only in the body or the query string. SNS uses only this
protocol."""

from penstock.lambda_runtime.handler import make_gateway_handler

handler = make_gateway_handler()
