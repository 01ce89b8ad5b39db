"""Implements the REST API, which is plain JSON over the same operations. FastAPI and pydantic serve this API; core
never imports them.
"""
