"""Results of a study that count against its work in one order, whichever process is faster."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from reluflow.study.task import Finished


class OrderedResults:
    """What follows the first run: results wait until those asked for before them are there, and are charged one by one.

    Once no work is left the others are left out, also where they came early. So what a study finds within its work
    depends on the tasks alone.

    Parameters
    ----------
    seconds
        Of work, for all of them together; infinite where work is not counted.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds_left = seconds
        self._names: deque[str] = deque()
        self._early: dict[str, Finished] = {}

    def expect(self, name: str) -> None:
        """Ask for a result, after all that were asked for before."""
        self._names.append(name)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @property
    def early(self) -> list[str]:
        """Names of the results that wait for others."""
        return list(self._early)

    def due(self, finished: Finished) -> Iterator[Finished]:
        """The results whose turn has come with this one, each charged as it is given."""
        self._early[finished.name] = finished
        while self._names and self._names[0] in self._early and self.seconds_left > 0.0:
            one = self._early.pop(self._names.popleft())
            self.seconds_left -= one.seconds
            yield one

    def left_out(self) -> list[str]:
        """Names of those for which no work is left, which are asked for no longer."""
        if self.seconds_left > 0.0:
            return []
        names = list(self._names)
        self._names.clear()
        self._early.clear()
        return names

    def give_up(self) -> list[Finished]:
        """All that came early, in order; nothing is waited for any more."""
        found = [self._early[name] for name in self._names if name in self._early]
        self._names.clear()
        self._early.clear()
        return found
