"""Handles ChangeMessageVisibility of SQS."""

from penstock.lambda_runtime.handler import make_handler

handler = make_handler("sqs", "ChangeMessageVisibility")
