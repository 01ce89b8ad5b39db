"""EventBridge Scheduler: its types, its errors and the operations of its actions; schedule expressions; firing."""
