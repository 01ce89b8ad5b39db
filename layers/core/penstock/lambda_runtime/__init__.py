"""The parts of a function of AWS Lambda: handlers, events, the execution environment, metrics."""
