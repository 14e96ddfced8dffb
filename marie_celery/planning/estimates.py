"""How long a task takes, learned from how long it took.

The estimate is a moving average of the logarithm of the runtime, so it follows the typical runtime (the
middle of a skewed distribution) and not the sum of its outliers. Three numbers per task are enough:

    count    how many runtimes were seen
    centre   average of ln(milliseconds); exp(centre) is the estimate
    spread   average distance from the centre

A runtime pulls the centre as if it lay at most three spreads away, however far out it is, and widens the
spread as if it lay at most six away. So a single outlier hardly counts; but when a task really begins to take
ten times as long, the estimate is less than a factor of two behind after twenty runs. The first runtimes are
averaged plainly; from the tenth on each new one weighs 10 %, so old ones fade with a half-life of seven runs.

Quantile sketches would need more state and forget nothing; a plain mean is at the mercy of one stuck job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MINIMUM_WEIGHT = 0.1
REACH = 3.0

# A task that always takes the same time would otherwise get a spread of zero and never move again.
NARROWEST = 0.1
FIRST_SPREAD = 0.5


@dataclass(frozen=True, slots=True)
class RuntimeEstimate:
    count: int = 0
    centre: float = 0.0
    spread: float = FIRST_SPREAD

    @property
    def seconds(self) -> float | None:
        return math.exp(self.centre) / 1000 if self.count else None

    def observe(self, seconds: float) -> RuntimeEstimate:
        """The estimate after one more successful execution."""
        if not 0 <= seconds < math.inf:
            raise ValueError(f"a runtime of {seconds} s cannot be")
        seen = math.log(max(1.0, seconds * 1000))
        if self.count == 0:
            return RuntimeEstimate(1, seen, FIRST_SPREAD)
        weight = max(MINIMUM_WEIGHT, 1 / (self.count + 1))
        reach = REACH * max(NARROWEST, self.spread)
        distance = seen - self.centre
        return RuntimeEstimate(
            self.count + 1,
            self.centre + weight * max(-reach, min(reach, distance)),
            self.spread + weight * (min(2 * reach, abs(distance)) - self.spread),
        )

    def as_text(self) -> str:
        """The estimate as the scripts keep it in Redis, without loss."""
        return f"{self.count} {self.centre!r} {self.spread!r}"

    @classmethod
    def from_text(cls, text: str | None) -> RuntimeEstimate:
        """The estimate that a script has kept; of nothing, that of a task that never ran."""
        if not text:
            return cls()
        count, centre, spread = text.split()
        return cls(int(count), float(centre), float(spread))
