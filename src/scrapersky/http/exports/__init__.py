"""Write rows as files while they are being read: CSV, JSON Lines, XLSX and Parquet.

Each writer takes an asynchronous iterator of chunks of rows and is one of bytes. It holds a chunk
at a time, writes no temporary file, and closes its source when whoever reads it goes away.
"""

from scrapersky.http.exports.columns import Column, Counts, Kind
from scrapersky.http.exports.csv_writer import write_csv
from scrapersky.http.exports.jsonl_writer import write_jsonl
from scrapersky.http.exports.parquet_writer import write_parquet
from scrapersky.http.exports.xlsx_writer import write_xlsx

__all__ = ["Column", "Counts", "Kind", "write_csv", "write_jsonl", "write_parquet", "write_xlsx"]
