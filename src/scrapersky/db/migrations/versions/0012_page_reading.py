"""Pages have a kind, are read for what they say, and sitemaps can be decided about.

Pages that are stored already are classified by and by. New columns have constant defaults, so that
no row of a busy table is rewritten.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pages", sa.Column("host", sa.Text(), server_default="", nullable=False))
    op.add_column("pages", sa.Column("page_rule", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("page_confidence", sa.Float(), nullable=True))
    op.add_column("pages", sa.Column("link_text", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("read_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("pages", sa.Column("final_url", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("http_status", sa.SmallInteger(), nullable=True))
    op.add_column("pages", sa.Column("title", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("description", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("h1", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("canonical", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("robots_meta", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("language", sa.Text(), nullable=True))
    op.add_column("pages", sa.Column("schema_types", sa.ARRAY(sa.Text()), nullable=True))
    op.add_column("pages", sa.Column("forms", sa.SmallInteger(), nullable=True))
    op.add_column("pages", sa.Column("has_contact_form", sa.Boolean(), nullable=True))
    op.add_column("pages", sa.Column("word_count", sa.Integer(), nullable=True))
    op.add_column(
        "pages", sa.Column("contact_scrape_status", sa.Text(), server_default="New", nullable=False)
    )
    op.add_column("pages", sa.Column("contacts_found", sa.Integer(), nullable=True))
    op.add_column(
        "pages",
        sa.Column("page_processing_status", sa.Text(), server_default="New", nullable=False),
    )
    op.add_column(
        "pages",
        sa.Column(
            "page_processing_due_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
    )
    op.add_column(
        "pages",
        sa.Column(
            "page_processing_attempts", sa.SmallInteger(), server_default="0", nullable=False
        ),
    )
    op.add_column("pages", sa.Column("page_processing_lease_token", sa.Uuid(), nullable=True))
    op.add_column(
        "pages",
        sa.Column("page_processing_lease_expires_at", sa.DateTime(timezone=True), nullable=True),
    )
    op.add_column("pages", sa.Column("page_processing_worker_id", sa.Uuid(), nullable=True))
    op.add_column("pages", sa.Column("page_processing_error", sa.Text(), nullable=True))
    op.create_index(
        "ix_pages_page_processing_due",
        "pages",
        ["host", "priority_level", "page_processing_due_at", "id"],
        unique=False,
        postgresql_where=sa.text("page_processing_status = 'Queued'"),
    )
    op.create_index(
        "ix_pages_page_processing_failed",
        "pages",
        ["id"],
        unique=False,
        postgresql_where=sa.text("page_processing_status = 'Error'"),
    )
    op.create_index(
        "ix_pages_page_processing_held",
        "pages",
        ["page_processing_worker_id"],
        unique=False,
        postgresql_where=sa.text("page_processing_status = 'Processing'"),
    )
    op.create_index(
        "ix_pages_unclassified",
        "pages",
        ["id"],
        unique=False,
        postgresql_where=sa.text("page_type IS NULL"),
    )
    op.create_index(
        "ix_pages_worth_reading",
        "pages",
        ["domain_id", "priority_level"],
        unique=False,
        postgresql_where=sa.text("priority_level <= 12 AND page_type IS NOT NULL"),
    )
    op.add_column(
        "sitemap_files",
        sa.Column("curation_status", sa.Text(), server_default="New", nullable=False),
    )
    op.drop_constraint(op.f("ck_sitemap_files_status"), "sitemap_files", type_="check")
    op.create_check_constraint(
        op.f("ck_sitemap_files_status"),
        "sitemap_files",
        "status IN ('unread', 'reading', 'ok', 'partial', 'refused', 'error')",
    )
    op.create_check_constraint(
        op.f("ck_pages_page_processing_status"),
        "pages",
        "page_processing_status IN ('Complete', 'Error', 'Filtered', 'New', 'Processing', 'Queued')",
    )
    op.create_check_constraint(
        op.f("ck_pages_contact_scrape_status"),
        "pages",
        "contact_scrape_status IN ('New', 'ContactFound', 'NoContactFound', 'Error', 'NotAFit')",
    )
    op.create_check_constraint(
        op.f("ck_sitemap_files_curation_status"),
        "sitemap_files",
        "curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')",
    )


def downgrade() -> None:
    op.execute("DELETE FROM sitemap_files WHERE status = 'unread'")
    op.drop_constraint(op.f("ck_sitemap_files_status"), "sitemap_files", type_="check")
    op.create_check_constraint(
        op.f("ck_sitemap_files_status"),
        "sitemap_files",
        "status IN ('reading', 'ok', 'partial', 'refused', 'error')",
    )
    op.drop_constraint(op.f("ck_sitemap_files_curation_status"), "sitemap_files", type_="check")
    op.drop_constraint(op.f("ck_pages_contact_scrape_status"), "pages", type_="check")
    op.drop_constraint(op.f("ck_pages_page_processing_status"), "pages", type_="check")
    op.drop_column("sitemap_files", "curation_status")
    op.drop_index(
        "ix_pages_worth_reading",
        table_name="pages",
        postgresql_where=sa.text("priority_level <= 12 AND page_type IS NOT NULL"),
    )
    op.drop_index(
        "ix_pages_unclassified", table_name="pages", postgresql_where=sa.text("page_type IS NULL")
    )
    op.drop_index(
        "ix_pages_page_processing_held",
        table_name="pages",
        postgresql_where=sa.text("page_processing_status = 'Processing'"),
    )
    op.drop_index(
        "ix_pages_page_processing_failed",
        table_name="pages",
        postgresql_where=sa.text("page_processing_status = 'Error'"),
    )
    op.drop_index(
        "ix_pages_page_processing_due",
        table_name="pages",
        postgresql_where=sa.text("page_processing_status = 'Queued'"),
    )
    op.drop_column("pages", "page_processing_error")
    op.drop_column("pages", "page_processing_worker_id")
    op.drop_column("pages", "page_processing_lease_expires_at")
    op.drop_column("pages", "page_processing_lease_token")
    op.drop_column("pages", "page_processing_attempts")
    op.drop_column("pages", "page_processing_due_at")
    op.drop_column("pages", "page_processing_status")
    op.drop_column("pages", "contacts_found")
    op.drop_column("pages", "contact_scrape_status")
    op.drop_column("pages", "word_count")
    op.drop_column("pages", "has_contact_form")
    op.drop_column("pages", "forms")
    op.drop_column("pages", "schema_types")
    op.drop_column("pages", "language")
    op.drop_column("pages", "robots_meta")
    op.drop_column("pages", "canonical")
    op.drop_column("pages", "h1")
    op.drop_column("pages", "description")
    op.drop_column("pages", "title")
    op.drop_column("pages", "http_status")
    op.drop_column("pages", "final_url")
    op.drop_column("pages", "read_at")
    op.drop_column("pages", "link_text")
    op.drop_column("pages", "page_confidence")
    op.drop_column("pages", "page_rule")
    op.drop_column("pages", "host")
