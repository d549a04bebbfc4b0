"""Tables of rows: each kind is a declaration over the list of the API that has the same name."""
