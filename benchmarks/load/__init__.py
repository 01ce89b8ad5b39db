"""The load generator for services that speak SQS JSON."""
