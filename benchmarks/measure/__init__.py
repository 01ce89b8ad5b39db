"""What is measured of a run: processor time, memory, host load, and the record of what was acknowledged."""
