"""Text messages: settings, phone numbers that are opted out, and the SMS sandbox."""
