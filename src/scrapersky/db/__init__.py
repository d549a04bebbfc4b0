"""The database: engine, transactions, the embedded server, bulk writes."""
