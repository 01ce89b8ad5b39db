"""SNS CheckIfPhoneNumberIsOptedOut."""

from penstock.lambda_runtime.handler import lambda_handler

handler = lambda_handler("sns", "CheckIfPhoneNumberIsOptedOut")
