"""Handles SetPlatformApplicationAttributes of SNS."""

from penstock.lambda_runtime.handler import build_handler

handler = build_handler("sns", "SetPlatformApplicationAttributes")
