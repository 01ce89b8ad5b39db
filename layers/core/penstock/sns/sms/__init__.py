"""Text messages: settings, opted-out phone numbers, and the SMS sandbox."""
