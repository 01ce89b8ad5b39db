"""Computes the calendar of schedules, and converts the form of a schedule."""
