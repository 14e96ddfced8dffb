"""An environment for each peer, so that none has to live with the versions that another needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".peers"
INSTALL_SECONDS = 600


class NotHereError(Exception):
    """One line that says why a system cannot be had on this machine."""


@dataclass(frozen=True)
class Own:
    """The environment that runs the harness."""

    packages: tuple[str, ...] = ()

    def prepare(self) -> None:
        return None

    @property
    def programs(self) -> Path:
        return Path(sys.executable).parent

    def variables(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class Venv:
    name: str
    packages: tuple[str, ...]

    @property
    def programs(self) -> Path:
        return CACHE / self.name / "bin"

    def prepare(self) -> None:
        folder = CACHE / self.name
        if is_installed(folder, self.packages):
            return
        shutil.rmtree(folder, ignore_errors=True)
        install([sys.executable, "-m", "venv", str(folder)])
        install([str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *self.packages])
        note_installed(folder, self.packages)

    def variables(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class Npm:
    name: str
    packages: tuple[str, ...]

    @property
    def programs(self) -> Path:
        return Path(shutil.which("node") or "node").parent

    def prepare(self) -> None:
        folder = CACHE / self.name
        if not (shutil.which("node") and shutil.which("npm")):
            raise NotHereError("there is no node and npm on the PATH")
        if is_installed(folder, self.packages):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", *self.packages])
        note_installed(folder, self.packages)

    def variables(self) -> dict[str, str]:
        return {"NODE_PATH": str(CACHE / self.name / "node_modules"), "NODE_ENV": "production"}


Environment = Own | Venv | Npm


def is_installed(folder: Path, packages: tuple[str, ...]) -> bool:
    stamp = folder / ".installed"
    return stamp.is_file() and stamp.read_text().splitlines() == list(packages)


def note_installed(folder: Path, packages: tuple[str, ...]) -> None:
    (folder / ".installed").write_text("\n".join(packages))


def install(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotHereError(f"could not be installed: {error}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise NotHereError(f"could not be installed: {lines[-1] if lines else 'no reason given'}")
