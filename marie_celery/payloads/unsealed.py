"""Results that stay in this process: nothing is done to them, only their size counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from marie_celery.errors import PayloadError


class Unsealed:
    def __init__(self, max_result_bytes: int) -> None:
        self._most = max_result_bytes

    def seal(self, text: str, attempt: str, what: str) -> str:
        if len(text) > self._most:
            raise PayloadError(
                f"{what} has {len(text)} bytes, max_result_bytes is {self._most}; store it elsewhere and return where"
            )
        return text

    def seal_list(self, texts: Sequence[str], attempt: str, what: str) -> str:
        return self.seal(f"[{','.join(texts)}]", attempt, what)

    def loads(self, text: str) -> Any:
        return json.loads(text)
