"""Handles PutEvents of EventBridge event buses."""

from penstock.lambda_runtime.handler import build_handler

handler = build_handler("events", "PutEvents")
