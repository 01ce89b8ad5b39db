"""The REST API: plain JSON over the same operations. It uses FastAPI and pydantic, which core never imports."""
