"""What a call costs in a tool loop, beside pydantic-ai, openai-agents and LangGraph.

The same scripted model, a tool that does nothing, 20 replies: `bench/peers/loop.py`. `make bench`
installs the peers; UNTEMPLATE_PEERS names another environment that has them.

Times are the least of 12 rounds, CPU of the whole process (threads included), in microseconds per
call; wall time beside it. Each measurement is a process of its own, one after the other.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "peers/loop.py"
STEPS = 20
SHAPES = [("async", 1), ("async", 8), ("sync", 1), ("sync", 8)]
PEERS = ["pydantic_ai", "openai_agents", "langgraph"]


def measured(python, library, kind, calls):
    """Microseconds of CPU and wall time per call; None if the library is not there."""
    command = [python, str(SCRIPT), library, kind, str(calls), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    folder = os.environ.get("UNTEMPLATE_PEERS")
    theirs = str(Path(folder) / "bin/python") if folder else sys.executable
    pythons = {"untemplate": sys.executable, **dict.fromkeys(PEERS, theirs)}
    heads = [f"{kind}, {calls} a reply" for kind, calls in SHAPES]
    print("| CPU (wall) µs per call | " + " | ".join(heads) + " |")
    print("|---" * (len(SHAPES) + 1) + "|")
    for library, python in pythons.items():
        cells = []
        for kind, calls in SHAPES:
            found = measured(python, library, kind, calls)
            cells.append("–" if found is None else f"{found[0]:.0f} ({found[1]:.0f})")
        print(f"| {library} | " + " | ".join(cells) + " |", flush=True)
