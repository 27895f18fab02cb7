"""Makes `tests` importable as a folder of plain modules (corpus, generators)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
