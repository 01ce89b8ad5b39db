"""Implements EventBridge Scheduler, with its types, errors, operations, schedule expressions, and firing."""
