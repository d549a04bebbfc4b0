"""Alembic environment: runs on the connection that `db.migrate` passes in."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes.get("target_metadata"),
)
context.run_migrations()
