"""A noisy neighbour: what one account notices of what another one does."""
