"""Runs the benchmarks that are named, or all of them."""

import importlib
import pkgutil
import sys

import bench

NAMES = sorted(m.name for m in pkgutil.iter_modules(bench.__path__) if m.name != "__main__")

for name in [n for n in sys.argv[1:] if not n.isdigit()] or NAMES:
    print(f"\n## bench/{name}.py\n", flush=True)
    importlib.import_module(f"bench.{name}").main()
