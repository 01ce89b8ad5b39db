"""EventBridge Scheduler CreateScheduleGroup."""

from penstock.lambda_handler import lambda_handler

handler = lambda_handler("scheduler", "CreateScheduleGroup")
