"""Handles GetScheduleGroup of EventBridge Scheduler."""

from penstock.lambda_runtime.handler import make_handler

handler = make_handler("scheduler", "GetScheduleGroup")
