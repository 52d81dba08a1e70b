"""What installed packages add by entry points: a rubric, a judge, a metric.

A package is imported when it is asked for; one that fails is one message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from judge.types import JudgeError, UnparsedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from packaging.requirements import Requirement

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Group:
    """One group of entry points: its name, and what one of its members is called."""

    name: str
    what: str

    def names(self, built_in: Collection[str] = ()) -> list[str]:
        """Return the names that packages add, sorted; without those that are `built_in`."""
        names = {entry.name for entry in installed(self.name)}
        return sorted(names.difference(built_in))

    def check_unique(self, name: str) -> None:
        """Raise `JudgeError` where a package adds something by a name that is built in."""
        packages = " and ".join(self.packages(name))
        if packages:
            raise JudgeError(
                f"uninstall {packages}: its {self.what} {name!r} is built in"
            )

    def load(self, name: str) -> Any:  # noqa: ANN401 - what it is, the caller checks
        """Return what a package adds as `name`."""
        entry = self._entry(name)
        try:
            return entry.load()
        except (Exception, SystemExit) as error:
            raise self.error(name, f"cannot be imported: {_told(error)}") from error

    def guarded(self, name: str, work: Callable[P, T]) -> Callable[P, T]:
        """Return `work`, a function of what the package adds as `name`, with errors of ours."""
        return _Guarded(self, name, work)

    def folder(self, name: str) -> Path:
        """Return the folder of the module that adds `name`."""
        self.load(name)
        module = import_module(self._entry(name).module)
        return Path(module.__file__ or "").parent

    def error(self, name: str, wrong: str) -> JudgeError:
        """Return the error of a package that adds `name` and is not as it should be."""
        packages = " and ".join(self.packages(name))
        what = f"{self.what} {name!r} of the package {packages}"
        return JudgeError(f"the {what} {wrong}; update that package or uninstall it")

    def packages(
        self, name: str, versions: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return name and version of each package that adds `name`; `versions` are a run's."""
        return [_package(entry, versions) for entry in self._entries(name)]

    def _entries(self, name: str) -> list[EntryPoint]:
        return [entry for entry in installed(self.name) if entry.name == name]

    def _entry(self, name: str) -> EntryPoint:
        entry, *others = self._entries(name)
        if others:
            both = " and ".join(self.packages(name))
            raise JudgeError(f"uninstall one of {both}: both add {name!r}")
        return entry


@dataclass(frozen=True, slots=True)
class _Guarded(Generic[P, T]):
    """A function of a package; a value, so that a rubric that has it can go to other processes."""

    group: Group
    name: str
    work: Callable[P, T]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return self.work(*args, **kwargs)
        # Want of memory is nobody's fault.
        except (JudgeError, UnparsedError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            raise self.group.error(self.name, f"failed: {_told(error)}") from error


RUBRICS = Group("judge.rubrics", "rubric")
BACKENDS = Group("judge.backends", "judge")
METRICS = Group("judge.metrics", "metric")


@cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, read once."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def versions() -> dict[str, str]:
    """Return the version of each package that adds anything."""
    found: dict[str, str] = {}
    for group in (RUBRICS, BACKENDS, METRICS):
        for entry in installed(group.name):
            if entry.dist:
                found[entry.dist.name] = entry.dist.version
    return found


def _package(entry: EntryPoint, versions: Mapping[str, str] | None = None) -> str:
    if not entry.dist:
        return entry.module
    name = entry.dist.name
    version = entry.dist.version
    if versions is not None:
        version = versions.get(name, "of an unknown version")
    return f"{name} {version}"


def _told(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}".rstrip(": ")


NAME = "radiology-judge"


@cache
def version() -> str:
    """Return the version of this program that is installed."""
    from importlib import metadata  # takes longer than help may

    return metadata.version(NAME)


def install(*packages: str) -> str:
    """Return the command that installs `packages`, each within the bounds of our metadata."""
    from importlib import metadata
    from shlex import quote

    from packaging.requirements import Requirement

    declared = [Requirement(line) for line in metadata.requires(NAME) or ()]
    wanted = []
    extras = set(metadata.metadata(NAME).get_all("Provides-Extra") or ()) - {"test"}
    for package in packages:
        known = [each for each in declared if each.name == package]
        bare = Requirement(str(known[0]))
        bare.marker = None  # which says for what extra it is
        wanted.append(quote(str(bare)))
        # Only an extra that asks for all of the packages is named.
        extras = {extra for extra in extras if _asks_for(extra, known)}
    command = " ".join(["pip install", *wanted])
    if extras:
        command += f" (the extra {min(extras)})"
    return command


def _asks_for(extra: str, declared: Sequence[Requirement]) -> bool:
    return any(_is_of(requirement, extra) for requirement in declared)


def _is_of(requirement: Requirement, extra: str) -> bool:
    """Whether an extra, and nothing less, asks for a package."""
    marker = requirement.marker
    if marker is None:
        return False
    if marker.evaluate({"extra": ""}):
        return False
    return marker.evaluate({"extra": extra})
