"""Message move tasks: AWS's actions, and those of selected messages, which REST, console and command line start."""
