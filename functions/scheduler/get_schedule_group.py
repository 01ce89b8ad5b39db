"""Handles GetScheduleGroup of EventBridge Scheduler."""

from penstock.lambda_runtime.handler import build_handler

handler = build_handler("scheduler", "GetScheduleGroup")
