"""Problems that need attention: `concerns.py` describes each kind of problem, and `reading.py` finds the problems."""
