"""EventBridge Scheduler: types, errors, and the operations of its actions; when schedules fire, and how."""
