"""Serves requests whose action is only in the body or the query string (Query protocol of SQS, and SNS)."""

from penstock.lambda_runtime.handler import build_gateway_handler

handler = build_gateway_handler()
