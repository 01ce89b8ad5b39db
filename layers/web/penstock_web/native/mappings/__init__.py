"""Event source mappings in the native REST API."""
