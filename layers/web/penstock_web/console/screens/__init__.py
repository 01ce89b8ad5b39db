"""Contains the console's screens, one module for each screen."""
