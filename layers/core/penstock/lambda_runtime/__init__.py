"""What a function of AWS Lambda needs: handlers, events, the execution environment, metrics."""
