"""Authentication and authorization: signatures, keys and policies."""
