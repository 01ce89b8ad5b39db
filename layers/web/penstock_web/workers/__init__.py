"""Background workers of the container, each in a thread."""
