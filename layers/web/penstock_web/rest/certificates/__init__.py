"""Provides certificates of SNS messages in the REST API."""
