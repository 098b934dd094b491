"""Makes `disk_faults.py` importable, and leaves time out of what property tests check."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).parent))

# A loaded machine is no failure; and what failed once is found again from the printed example, not from a folder.
settings.register_profile("state", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("state")
