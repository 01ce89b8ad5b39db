"""What every function and the container share: the queue service without its front end."""

__version__ = "0.0.2"
