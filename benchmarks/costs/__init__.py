"""What single parts cost in processor time; each file is a program of its own."""
