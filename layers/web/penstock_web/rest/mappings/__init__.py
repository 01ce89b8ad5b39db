"""Event source mappings in the REST API."""
