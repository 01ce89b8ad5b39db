"""The native REST API: plain JSON over the same operations. FastAPI and pydantic live here, and nowhere in core."""
