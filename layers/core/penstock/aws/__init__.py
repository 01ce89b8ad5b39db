"""What is the same for all services of AWS: resource names, tokens of pages, protocols."""
