"""Import lists given as JSON or CSV, with a result per row.

`csv_reader` decodes a file and finds the column to import, `rows` parses, deduplicates and stores
what the rows name through a feature's `Importer`, and `schemas` holds bodies and responses.
"""

from scrapersky.lists.imports.csv_reader import ImportSubject
from scrapersky.lists.imports.rows import (
    ImportEntry,
    Importer,
    ImportResult,
    ImportRow,
    ImportRowStatus,
    InputRow,
    StoredEntry,
    import_rows,
)

__all__ = [
    "ImportEntry",
    "ImportResult",
    "ImportRow",
    "ImportRowStatus",
    "ImportSubject",
    "Importer",
    "InputRow",
    "StoredEntry",
    "import_rows",
]
