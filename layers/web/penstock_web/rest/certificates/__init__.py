"""Certificates of SNS messages in the REST API."""
