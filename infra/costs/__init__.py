"""What the two ways to run Penstock on AWS cost: docs/costs.md, computed from list prices and measured processor time.

`python -m infra.costs` prints the page; `make generate` writes it, and `make check` compares.
"""
