"""EventBridge Scheduler GetSchedule."""

from penstock.lambda_runtime.handler import lambda_handler

handler = lambda_handler("scheduler", "GetSchedule")
