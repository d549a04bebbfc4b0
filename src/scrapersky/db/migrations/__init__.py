"""The schema's migrations, run by `db.migrate`."""
