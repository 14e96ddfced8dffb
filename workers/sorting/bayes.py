"""A naive Bayes classifier of words, small enough to be trained while the module loads."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

UNKNOWN = "unknown"

# Words of one text depend on each other; counted as that many independent ones, they do not drive every
# confidence to 1.
INDEPENDENT_WORDS = 8


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


class Classifier:
    def __init__(self, examples: Mapping[str, Iterable[str]]) -> None:
        counts = {label: Counter(words(" ".join(texts))) for label, texts in examples.items()}
        self._known = frozenset().union(*counts.values())
        # One is added to every count, so that a word unseen in a class does not rule the class out.
        self._log_chance = {
            label: {
                word: math.log((count[word] + 1) / (count.total() + len(self._known))) for word in self._known
            }
            for label, count in counts.items()
        }

    def classify(self, text: str) -> tuple[str, float]:
        """The likeliest label and its share among all of them; `UNKNOWN` if no word says anything."""
        known = [word for word in words(text) if word in self._known]
        if not known:
            return UNKNOWN, 0.0
        weight = min(1.0, INDEPENDENT_WORDS / len(known))
        scores = {
            label: weight * sum(chances[word] for word in known)
            for label, chances in self._log_chance.items()
        }
        best = max(scores, key=scores.__getitem__)
        return best, 1 / sum(math.exp(score - scores[best]) for score in scores.values())
