"""Who may call what: signatures, keys and policies."""
