"""The fixtures of the end-to-end tests; their tools are in support.py beside this file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

# Tests are imported by path (no packages below tests/), so their shared tools are made importable once, here.
_spec = importlib.util.spec_from_file_location("tests_support", Path(__file__).with_name("support.py"))
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules["tests_support"] = _module
_spec.loader.exec_module(_module)

project = _module.project
