"""Records acts of users and refused requests for the audit."""
