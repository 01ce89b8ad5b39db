"""The runtime of AWS Lambda functions: handlers, events, the execution environment and metrics."""
