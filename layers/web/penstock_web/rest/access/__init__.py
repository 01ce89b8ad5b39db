"""Users and keys in the REST API."""
