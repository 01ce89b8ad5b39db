"""Measurements of a run: processor time, memory, host load, and the ids of acknowledged and received messages."""
