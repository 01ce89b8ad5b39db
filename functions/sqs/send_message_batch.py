"""SQS SendMessageBatch."""

from penstock.lambda_runtime.handler import make_handler

handler = make_handler("sqs", "SendMessageBatch")
