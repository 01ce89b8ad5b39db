"""Implements HTTP/1.1 in the container: the protocol, limits of time and memory, and the endpoints of AWS protocols."""
