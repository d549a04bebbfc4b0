"""Write rows as CSV, JSON Lines, XLSX and Parquet while they are read.

Each writer takes an asynchronous iterator of chunks of rows and yields bytes. It holds one chunk at
a time, and closes its source when its reader goes away. Only XLSX needs a temporary file.
"""

from scrapersky.lists.export.columns import ColumnKind, ExportColumn, ExportCounts
from scrapersky.lists.export.writers import write_csv, write_jsonl, write_parquet
from scrapersky.lists.export.xlsx import write_xlsx

__all__ = [
    "ColumnKind",
    "ExportColumn",
    "ExportCounts",
    "write_csv",
    "write_jsonl",
    "write_parquet",
    "write_xlsx",
]
