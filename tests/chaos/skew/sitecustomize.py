"""Puts the wall clock of a process wrong by CHAOS_SKEW seconds: Python imports a module of this name at its start."""

import os
import time

_seconds = float(os.environ.get("CHAOS_SKEW", "0"))
if _seconds:
    _true_time = time.time
    time.time = lambda: _true_time() + _seconds
