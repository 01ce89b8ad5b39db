"""EventBridge Scheduler: types, errors, operations, schedule expressions, and firing."""
