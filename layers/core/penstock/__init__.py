"""The queue service without its HTTP servers: the code that the Lambda functions and the container share."""

__version__ = "0.1.0"
