"""Handles ListDeadLetterSourceQueues of SQS."""

from penstock.lambda_runtime.handler import build_handler

handler = build_handler("sqs", "ListDeadLetterSourceQueues")
