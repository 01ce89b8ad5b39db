"""SNS ListTopics."""

from penstock.lambda_handler import lambda_handler

handler = lambda_handler("sns", "ListTopics")
