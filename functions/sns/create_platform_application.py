"""SNS CreatePlatformApplication."""

from penstock.lambda_runtime.handler import lambda_handler

handler = lambda_handler("sns", "CreatePlatformApplication")
