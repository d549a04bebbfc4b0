"""The address of a view: everything one sees of a table is in it, so that it can be shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

PAGING = ("cursor",)
"""What is of no use any more once the list is another one."""


@dataclass(frozen=True)
class Address:
    path: str
    values: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, path: str, given: Iterable[tuple[str, str]]) -> Address:
        return cls(path, tuple((name, value) for name, value in given if value and name != "part"))

    @property
    def href(self) -> str:
        return f"{self.path}?{urlencode(self.values)}" if self.values else self.path

    def of_name(self, name: str) -> list[str]:
        return [value for each, value in self.values if each == name]

    def without(self, *names: str) -> Address:
        """The first page of it."""
        gone = {*names, *PAGING}
        return Address(self.path, tuple(each for each in self.values if each[0] not in gone))

    def setting(self, name: str, *values: str) -> Address:
        kept = self.without(name).values
        return Address(self.path, (*kept, *((name, each) for each in values)))

    def toggling(self, name: str, value: str, in_force: Sequence[str]) -> Address:
        """With this value beside those in force, or without it where it is one of them."""
        others = [each for each in in_force if each != value]
        return self.setting(name, *(others if value in in_force else [*others, value]))

    def at(self, cursor: str) -> Address:
        kept = self.without().values
        return Address(self.path, (*kept, ("cursor", cursor)))
