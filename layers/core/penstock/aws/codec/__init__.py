"""Codecs between bytes and the types of requests and results, compiled once per type."""
