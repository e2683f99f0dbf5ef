"""What plans of all stages have."""

from __future__ import annotations

from typing import Protocol

__all__ = ["KeptPlan"]


class _Kept(Protocol):
    """Of the compiled module."""

    def reset(self) -> None: ...

    def save(self) -> bytes: ...

    def load(self, arg: bytes, /) -> None: ...

    def backend(self) -> str: ...


class KeptPlan:
    """A plan and the state of one stream. Several threads may call it, one after the other."""

    _plan: _Kept

    def reset(self) -> None:
        """The next sample starts a stream."""
        self._plan.reset()

    def save(self) -> bytes:
        """The state of the stream: a plan of the same arguments goes on with it, on a device of the same kind."""
        return self._plan.save()

    def load(self, saved: bytes) -> None:
        """Goes on with the stream that `save` gave. The state of another plan is a FormatError, and resets this one."""
        self._plan.load(saved)

    @property
    def backend(self) -> str:
        """The kernels that run."""
        return self._plan.backend()
