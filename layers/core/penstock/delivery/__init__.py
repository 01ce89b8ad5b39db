"""How messages leave for endpoints outside."""
