"""EventBridge Scheduler UntagResource."""

from penstock.lambda_handler import lambda_handler

handler = lambda_handler("scheduler", "UntagResource")
