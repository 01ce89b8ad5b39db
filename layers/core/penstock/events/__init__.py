"""Event buses of Amazon EventBridge: buses, subscribers, event sources, policies and tags."""
