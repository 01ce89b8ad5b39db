"""`penstock metrics report`: what the metrics job stored, as one HTML file with pictures that needs nothing else."""
