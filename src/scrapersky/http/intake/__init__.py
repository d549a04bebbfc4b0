"""Lists that people hand in, as JSON or as a CSV file: read, stored, and answered row by row.

`texts` makes text of a file's bytes, `records` rows of that text, `columns` finds the column that
is meant; `taking` stores what the rows name, by what a feature says about one kind of thing, and
`answers` tells what became of each row.
"""

from scrapersky.http.intake.columns import ListKind
from scrapersky.http.intake.rows import Given, Row, RowStatus, Taken
from scrapersky.http.intake.taking import Entry, Stored, Trade, take

__all__ = ["Entry", "Given", "ListKind", "Row", "RowStatus", "Stored", "Taken", "Trade", "take"]
