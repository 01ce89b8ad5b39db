"""Handles DeleteEndpoint of SNS."""

from penstock.lambda_runtime.handler import make_handler

handler = make_handler("sns", "DeleteEndpoint")
