"""Implements the REST API: plain JSON over the operations that the AWS APIs use. FastAPI and pydantic serve this API;
core never imports them.
"""
