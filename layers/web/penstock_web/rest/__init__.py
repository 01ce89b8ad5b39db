"""Implements the REST API, which is plain JSON over the same operations. It uses FastAPI and pydantic, which core never
imports."""
