"""Implements the container's HTTP/1.1 server: the protocol, the limits on time and memory, and the endpoints of the AWS
protocols."""
