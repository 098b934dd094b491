"""Makes `disk_faults.py` importable for the tests of the state layer."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
