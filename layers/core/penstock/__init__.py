"""The queue service without HTTP servers. The Lambda functions and the container share this code."""

__version__ = "0.1.0"
