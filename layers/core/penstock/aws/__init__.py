"""Code that all AWS services share: resource names, page tokens and protocols."""
