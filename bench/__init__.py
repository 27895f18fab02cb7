"""Benchmarks: `make bench` runs all, `python -m bench serve` one."""
