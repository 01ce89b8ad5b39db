"""AWS's actions for message move tasks. `management/move_tasks.py` has tasks for selected messages."""
