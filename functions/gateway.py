"""Serves requests whose action is only in the body or the query string (Query protocol of SQS, and SNS)."""

from penstock.lambda_runtime.handler import make_gateway_handler

handler = make_gateway_handler()
