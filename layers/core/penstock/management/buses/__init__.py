"""Event buses and subscribers: states, positions, stored events, and publications."""
