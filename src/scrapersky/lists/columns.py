"""Declare a column of a kind of row.

One declaration yields its API field, query parameters, sort key, export column, dashboard column
and column of the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import cached_property
from inspect import get_annotations
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ARRAY, Boolean, Date, DateTime, Float, Integer

from scrapersky.lists.export import ColumnKind, ExportColumn
from scrapersky.lists.filters import (
    BooleanFilter,
    ChoiceFilter,
    ColumnFilter,
    DateRangeFilter,
    ListFilter,
    ModelColumn,
)

_COLUMN_KINDS: tuple[tuple[type[Any], ColumnKind], ...] = (
    (Boolean, ColumnKind.boolean),
    (Integer, ColumnKind.integer),
    (Float, ColumnKind.number),
    (DateTime, ColumnKind.moment),
    (Date, ColumnKind.date),
    (ARRAY, ColumnKind.texts),
)


class Visibility(Enum):
    """Whether the dashboard table has the column."""

    SHOWN = auto()
    OPTIONAL = auto()
    """Shown once a user selects it."""
    HIDDEN = auto()


SHOWN, OPTIONAL = Visibility.SHOWN, Visibility.OPTIONAL


class CellKind(StrEnum):
    """How a table presents a value. Without a hint, it follows from the SQL type."""

    TEXT = "text"
    NOWRAP = "nowrap"
    """A short text without line breaks, such as a phone number."""
    WORD = "word"
    """A word of the database, such as `sitemap_index`."""
    STATUS = "status"
    LINK = "link"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    ITEMS = "items"


_CELL_KINDS = {
    ColumnKind.integer: CellKind.NUMBER,
    ColumnKind.number: CellKind.NUMBER,
    ColumnKind.boolean: CellKind.BOOLEAN,
    ColumnKind.moment: CellKind.TIME,
    ColumnKind.texts: CellKind.ITEMS,
}

FilterSpec = bool | type[StrEnum] | ListFilter


@dataclass(frozen=True)
class ExportField(ExportColumn):
    """An export column with the SQL expression of its value."""

    value: Any = None


@dataclass(frozen=True, eq=False)
class Column:
    value: ModelColumn
    """A mapped attribute of the list's model or of a table joined by the export, or an SQL
    expression.
    """
    heading: str = ""
    """Heading in exports; the default follows from the name."""
    label: str = ""
    """Heading in tables and label of the filter, if it is not the heading of exports."""
    name: str = ""
    """Name of the API field, the export column and the sort key, if it is not the attribute's."""
    filter: FilterSpec | tuple[FilterSpec, ...] = False
    """True filters by the column's type, an enum by its values."""
    sort: bool = False
    """Needs an index on large tables."""
    export: Any = True
    """False: not exported. An SQL expression is exported instead of the value."""
    api: bool = True
    table: Visibility = Visibility.HIDDEN
    cell: CellKind | None = None
    cli: bool = False
    says: str = ""
    example: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.value.key)

    @cached_property
    def kind(self) -> ColumnKind:
        kinds = (kind for each, kind in _COLUMN_KINDS if isinstance(self.value.type, each))
        return next(kinds, ColumnKind.text)

    @property
    def cell_kind(self) -> CellKind:
        return self.cell or _CELL_KINDS.get(self.kind, CellKind.TEXT)

    @property
    def title(self) -> str:
        return self.label or self._export_heading

    @property
    def _export_heading(self) -> str:
        return self.heading or self.name.replace("_", " ").capitalize()

    @cached_property
    def filters(self) -> tuple[ListFilter, ...]:
        specs = self.filter if isinstance(self.filter, tuple) else (self.filter,)
        return tuple(self._build_filter(each) for each in specs if each is not False)

    def _build_filter(self, spec: FilterSpec) -> ListFilter:
        if spec is True:
            spec = _choose_filter(self.kind)
        elif isinstance(spec, type):
            spec = ChoiceFilter(words=tuple(each.value for each in spec))
        if isinstance(spec, ColumnFilter):
            return spec.bind(self.name, self.value)
        assert not isinstance(spec, bool)
        return spec

    @property
    def exported(self) -> ExportField:
        value = self.value if self.export is True else self.export
        return ExportField(self.name, self._export_heading, self.kind, value)

    def read(self, row: Any) -> Any:
        """Return the value of a row, either a mapped row or its API schema."""
        return getattr(row, self.name if hasattr(row, self.name) else self.value.key)

    def build_field(self) -> tuple[Any, Any]:
        """Return the type and the description of the API field."""
        kind: Any = _get_python_type(self.value.type)
        examples = None if self.example is None else [self.example]
        field = Field(description=self.says or None, examples=examples)
        return (kind | None if self.value.expression.nullable else kind), field


def build_curation_column(value: ModelColumn, words: type[StrEnum], **options: Any) -> Column:
    """Declare the status that users set."""
    return Column(
        value,
        "Curation",
        "Decision",
        filter=words,
        table=SHOWN,
        cell=CellKind.STATUS,
        example="New",
        **options,
    )


def _choose_filter(kind: ColumnKind) -> ListFilter:
    match kind:
        case ColumnKind.boolean:
            return BooleanFilter()
        case ColumnKind.moment:
            return DateRangeFilter()
        case _:
            return ChoiceFilter()


def _get_python_type(kind: Any) -> Any:
    if isinstance(kind, ARRAY):
        return list.__class_getitem__(kind.item_type.python_type)
    return kind.python_type


class RowSchema(BaseModel):
    """Base of response schemas whose fields are the columns of a list.

    A subclass names them (`class LeadOut(RowSchema, columns=LEADS.all_columns)`) and declares only
    the fields that are no columns, or differ from them.
    """

    model_config = ConfigDict(from_attributes=True)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, columns: Sequence[Column] = (), **options: Any) -> None:
        # Runs before pydantic collects the fields, so that annotations added here become fields.
        super().__init_subclass__(**options)
        own = get_annotations(cls)
        added = [each for each in columns if each.api and each.name not in own]
        annotations: dict[str, Any] = {}
        for each in sorted(added, key=lambda column: column.name != "id"):
            annotations[each.name], field = each.build_field()
            setattr(cls, each.name, field)
        cls.__annotations__ = {**annotations, **own}
