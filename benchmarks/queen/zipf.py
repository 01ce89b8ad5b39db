"""Zipf's law: the k-th most frequent of n is drawn 1/k^s as often as the first."""

import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Zipf:
    """Draws from `ranks`, a part of 1..n. `share`: the probability that a draw from all n is one of them."""

    def __init__(self, ranks: Sequence[int], count: int, skew: float) -> None:
        self._ranks = ranks
        self._sums = list(accumulate(rank**-skew for rank in ranks))
        self.share = self._sums[-1] / sum(rank**-skew for rank in range(1, count + 1))

    def draw(self, rng: random.Random) -> int:
        return self._ranks[bisect_left(self._sums, rng.random() * self._sums[-1])]
