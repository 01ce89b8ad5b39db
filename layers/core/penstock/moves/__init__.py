"""Message move tasks: AWS's actions, and tasks for selected messages (REST, console, command line)."""
