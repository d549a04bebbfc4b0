"""Keys that rotate and expire, users who come by token or are deactivated, and the audit log.

A user's name is unique per issuer: whoever comes by token is known by the token's subject, and may
share it with somebody made here.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("users", sa.Column("issuer", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("deactivated_at", MOMENT, nullable=True))
    op.drop_constraint(op.f("uq_users_tenant_id_name"), "users", type_="unique")
    op.create_unique_constraint(
        op.f("uq_users_tenant_id_issuer_name"),
        "users",
        ["tenant_id", "issuer", "name"],
        postgresql_nulls_not_distinct=True,
    )
    op.add_column("api_keys", sa.Column("prefix", sa.Text(), nullable=True))
    op.add_column("api_keys", sa.Column("previous_hash", sa.LargeBinary(), nullable=True))
    op.add_column("api_keys", sa.Column("previous_until", MOMENT, nullable=True))
    op.add_column("api_keys", sa.Column("expires_at", MOMENT, nullable=True))
    op.create_unique_constraint(op.f("uq_api_keys_previous_hash"), "api_keys", ["previous_hash"])
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=False),
        sa.Column("api_key_id", sa.Uuid(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=True),
        sa.Column("details", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["actor_id"], ["users.id"], name=op.f("fk_audit_log_actor_id")),
        sa.ForeignKeyConstraint(
            ["api_key_id"], ["api_keys.id"], name=op.f("fk_audit_log_api_key_id")
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_audit_log_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index("ix_audit_log_at", "audit_log", ["tenant_id", "at", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_audit_log_at", table_name="audit_log")
    op.drop_table("audit_log")
    op.drop_constraint(op.f("uq_api_keys_previous_hash"), "api_keys", type_="unique")
    for column in ("expires_at", "previous_until", "previous_hash", "prefix"):
        op.drop_column("api_keys", column)
    op.drop_constraint(op.f("uq_users_tenant_id_issuer_name"), "users", type_="unique")
    # One of two who share a name gets the issuer behind it.
    op.execute("UPDATE users SET name = name || ' @ ' || issuer WHERE issuer IS NOT NULL")
    op.create_unique_constraint(op.f("uq_users_tenant_id_name"), "users", ["tenant_id", "name"])
    op.drop_column("users", "deactivated_at")
    op.drop_column("users", "issuer")
