"""What docs/flow.md says is run, and its table of keys is the one in the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from marie_celery.store.edges import EdgeKeys
from marie_celery.store.keys import Keys

TEXT = (Path(__file__).parents[3] / "docs" / "flow.md").read_text()


def test_the_examples_run_as_one_program() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/flow.md", "exec"), names)


def test_every_key_of_an_edge_is_documented_with_a_command_to_look_at_it() -> None:
    rows = re.findall(r"^\| `(edge:[^`]+)` \| (\w+) \| .* \| `(redis-cli [^`]+)` \|$", TEXT, re.MULTILINE)
    wanted = {}
    for name, builder in vars(EdgeKeys).items():
        if isinstance(builder, property):
            kind = inspect.getdoc(builder.fget)
            generic, real = (
                getattr(EdgeKeys("marie", edge), name) for edge in ("<edge>", "camera:out->reader:in")
            )
        elif name == "held":
            kind = inspect.getdoc(builder)
            generic, real = (
                EdgeKeys("marie", edge).held("<consumer>") for edge in ("<edge>", "camera:out->reader:in")
            )
        else:
            continue
        wanted[generic.removeprefix(Keys("marie").prefix)] = (str(kind).partition(":")[0], real)
    assert {key: kind for key, kind, _ in rows} == {key: kind for key, (kind, _) in wanted.items()}
    for key, _, command in rows:
        assert f"'{wanted[key][1]}'" in command
