"""Caps that only operators raise, one over all tenants, and what sign-in attempts are counted in."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
USD = sa.Numeric(precision=14, scale=6)

# A cap that a tenant's own people set was never agreed to by an operator: it becomes the tenant's
# own limit, and the installation's default is what the tenant is allowed until an operator says
# otherwise. A cap set by somebody of the default tenant, or on the command line, stays.
KEEP_TENANTS_OWN_CAPS_AS_LIMITS = """
    UPDATE budgets SET own_limit_usd = monthly_cap_usd, monthly_cap_usd = NULL
    FROM users
    WHERE users.id = budgets.changed_by
      AND users.tenant_id = budgets.tenant_id
      AND users.tenant_id <> '00000000-0000-7000-8000-000000000001'
"""


def upgrade() -> None:
    op.add_column("budgets", sa.Column("own_limit_usd", USD, nullable=True))
    op.alter_column("budgets", "monthly_cap_usd", existing_type=USD, nullable=True)
    op.execute(KEEP_TENANTS_OWN_CAPS_AS_LIMITS)
    op.create_table(
        "installation_budget",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("monthly_cap_usd", USD, nullable=True),
        sa.Column("changed_by", sa.Uuid(), nullable=False),
        sa.Column("changed_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_installation_budget_single_row")),
        sa.ForeignKeyConstraint(
            ["changed_by"], ["users.id"], name=op.f("fk_installation_budget_changed_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation_budget")),
    )
    # One row per tenant and month: small, and built in an instant.
    op.create_index("ix_cost_months_month", "cost_months", ["month"], unique=False)
    op.create_table(
        "sign_in_buckets",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("level", sa.Float(), nullable=False),
        sa.Column("updated_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sign_in_buckets")),
    )
    op.create_index(
        "ix_sign_in_buckets_updated_at", "sign_in_buckets", ["updated_at"], unique=False
    )
    op.create_table(
        "sign_in_devices",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("last_used_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_sign_in_devices_tenant_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_in_devices_user_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sign_in_devices")),
    )
    op.create_index(
        "ix_sign_in_devices_user_id", "sign_in_devices", ["user_id", "last_used_at"], unique=False
    )
    op.create_index(
        "ix_sign_in_devices_last_used_at", "sign_in_devices", ["last_used_at"], unique=False
    )


def downgrade() -> None:
    op.drop_index("ix_sign_in_devices_last_used_at", table_name="sign_in_devices")
    op.drop_index("ix_sign_in_devices_user_id", table_name="sign_in_devices")
    op.drop_table("sign_in_devices")
    op.drop_index("ix_sign_in_buckets_updated_at", table_name="sign_in_buckets")
    op.drop_table("sign_in_buckets")
    op.drop_index("ix_cost_months_month", table_name="cost_months")
    op.drop_table("installation_budget")
    op.execute("DELETE FROM budgets WHERE monthly_cap_usd IS NULL")
    op.alter_column("budgets", "monthly_cap_usd", existing_type=USD, nullable=False)
    op.drop_column("budgets", "own_limit_usd")
