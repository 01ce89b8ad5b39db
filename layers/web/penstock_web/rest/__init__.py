"""Implements the REST API, which runs the same operations as the AWS APIs. The REST API uses FastAPI and pydantic. The
core package imports neither FastAPI nor pydantic.
"""
