"""`python -m autopilot`."""

from autopilot.cli import main

main()
