"""Every action, for requests that name the action only in the body or the query string (Query protocol, SNS)."""

from penstock.lambda_runtime.handler import gateway_handler

handler = gateway_handler()
