"""The screens of the console, a module each, with its routes."""
