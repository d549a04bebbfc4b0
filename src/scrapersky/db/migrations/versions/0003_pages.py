"""Pages, and the queue that fills them from stored sitemaps without fetching anything again.

New columns have constant defaults, so that no row of a busy table is rewritten.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("domain_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("sitemap_file_id", sa.Uuid(), nullable=True),
        sa.Column("lastmod", sa.DateTime(timezone=True), nullable=True),
        sa.Column("path_depth", sa.Integer(), nullable=False),
        sa.Column("page_type", sa.Text(), nullable=True),
        sa.Column("priority_level", sa.SmallInteger(), server_default="5", nullable=False),
        sa.Column("page_curation_status", sa.Text(), server_default="New", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "page_curation_status IN ('New', 'Selected', 'Queued', 'Processing', 'Complete', 'Error', 'Skipped')",
            name=op.f("ck_pages_page_curation_status"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_pages_created_by")),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_pages_domain_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sitemap_file_id"],
            ["sitemap_files.id"],
            name=op.f("fk_pages_sitemap_file_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_pages_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pages")),
        sa.UniqueConstraint("domain_id", "url_digest", name=op.f("uq_pages_domain_id_url_digest")),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index("ix_pages_created_at", "pages", ["tenant_id", "created_at"], unique=False)
    op.create_index("ix_pages_domain_id", "pages", ["domain_id", "created_at"], unique=False)
    op.create_index(
        "ix_pages_sitemap_file_id", "pages", ["sitemap_file_id", "created_at"], unique=False
    )
    op.add_column(
        "sitemap_files",
        sa.Column("sitemap_import_status", sa.Text(), server_default="New", nullable=False),
    )
    op.add_column(
        "sitemap_files",
        sa.Column(
            "sitemap_import_due_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
    )
    op.add_column(
        "sitemap_files",
        sa.Column("sitemap_import_attempts", sa.SmallInteger(), server_default="0", nullable=False),
    )
    op.add_column(
        "sitemap_files", sa.Column("sitemap_import_lease_token", sa.Uuid(), nullable=True)
    )
    op.add_column(
        "sitemap_files",
        sa.Column("sitemap_import_lease_expires_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.add_column("sitemap_files", sa.Column("sitemap_import_worker_id", sa.Uuid(), nullable=True))
    op.add_column("sitemap_files", sa.Column("sitemap_import_error", sa.Text(), nullable=True))
    op.create_check_constraint(
        op.f("ck_sitemap_files_sitemap_import_status"),
        "sitemap_files",
        "sitemap_import_status IN ('Complete', 'Error', 'New', 'Processing', 'Queued')",
    )
    op.create_index(
        "ix_sitemap_files_sitemap_import_due",
        "sitemap_files",
        ["sitemap_import_due_at", "id"],
        unique=False,
        postgresql_where=sa.text("sitemap_import_status = 'Queued'"),
    )
    op.create_index(
        "ix_sitemap_files_sitemap_import_held",
        "sitemap_files",
        ["sitemap_import_worker_id"],
        unique=False,
        postgresql_where=sa.text("sitemap_import_status = 'Processing'"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_sitemap_files_sitemap_import_held",
        table_name="sitemap_files",
        postgresql_where=sa.text("sitemap_import_status = 'Processing'"),
    )
    op.drop_index(
        "ix_sitemap_files_sitemap_import_due",
        table_name="sitemap_files",
        postgresql_where=sa.text("sitemap_import_status = 'Queued'"),
    )
    op.drop_constraint(
        op.f("ck_sitemap_files_sitemap_import_status"), "sitemap_files", type_="check"
    )
    op.drop_column("sitemap_files", "sitemap_import_error")
    op.drop_column("sitemap_files", "sitemap_import_worker_id")
    op.drop_column("sitemap_files", "sitemap_import_lease_expires_at")
    op.drop_column("sitemap_files", "sitemap_import_lease_token")
    op.drop_column("sitemap_files", "sitemap_import_attempts")
    op.drop_column("sitemap_files", "sitemap_import_due_at")
    op.drop_column("sitemap_files", "sitemap_import_status")
    op.drop_index("ix_pages_sitemap_file_id", table_name="pages")
    op.drop_index("ix_pages_domain_id", table_name="pages")
    op.drop_index("ix_pages_created_at", table_name="pages")
    op.drop_table("pages")
