"""How Alembic runs here: on the connection `db.migrate` hands over, inside its transaction."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes.get("target_metadata"),
)
context.run_migrations()
