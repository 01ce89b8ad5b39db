"""The queue service without HTTP servers. The Lambda functions and the container share the code of `penstock`."""

__version__ = "0.1.0"
