"""The spine: accounts, domains, jobs, sitemaps and the engine's own tables."""

from uuid import UUID

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("row_id", sa.Uuid(), nullable=False),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("error_class", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=True),
        sa.Column(
            "first_failed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "died_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'replayed', 'discarded')", name=op.f("ck_dead_letters_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
    )
    op.create_index("ix_dead_letters_died_at", "dead_letters", ["died_at", "id"], unique=False)
    op.create_index(
        "ix_dead_letters_open",
        "dead_letters",
        ["stage", "row_id"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "host_slots",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host_slots")),
    )
    op.create_index("ix_host_slots_host", "host_slots", ["host"], unique=False)
    op.create_table(
        "hosts",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column(
            "next_slot_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("max_concurrency", sa.Integer(), nullable=True),
        sa.Column("crawl_delay_seconds", sa.Float(), nullable=True),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("circuit_open_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("circuit_reason", sa.Text(), nullable=True),
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
        sa.PrimaryKeyConstraint("host", name=op.f("pk_hosts")),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "schedule_runs",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slot", sa.DateTime(timezone=True), nullable=False),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("name", "slot", name=op.f("pk_schedule_runs")),
    )
    op.create_table(
        "stage_controls",
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("changed_by", sa.Uuid(), nullable=True),
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
        sa.PrimaryKeyConstraint("stage", name=op.f("pk_stage_controls")),
    )
    op.create_table(
        "stage_events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("row_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stage_events")),
    )
    op.create_index("ix_stage_events_row_id", "stage_events", ["row_id", "id"], unique=False)
    op.create_index("ix_stage_events_stage_at", "stage_events", ["stage", "at"], unique=False)
    op.create_table(
        "tenants",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
        sa.UniqueConstraint("name", name=op.f("uq_tenants_name")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("pid_start", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column(
            "stages", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False
        ),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "beat_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
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
        sa.CheckConstraint("role IN ('viewer', 'curator', 'admin')", name=op.f("ck_users_role")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_users_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_users_tenant_id_name")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
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
        sa.CheckConstraint("role IN ('viewer', 'curator', 'admin')", name=op.f("ck_api_keys_role")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_api_keys_tenant_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
    )
    op.create_table(
        "domains",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=True),
        sa.Column("sitemap_curation_status", sa.Text(), server_default="New", nullable=False),
        sa.Column("last_scan", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_scan_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("scan_interval", sa.Interval(), server_default="168 hours", nullable=False),
        sa.Column("scan_failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total_sitemaps", sa.Integer(), server_default="0", nullable=False),
        sa.Column("sitemap_urls", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_scan_error", sa.Text(), nullable=True),
        sa.Column("last_sitemap_job_id", sa.Uuid(), nullable=True),
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
        sa.Column("sitemap_analysis_status", sa.Text(), server_default="pending", nullable=False),
        sa.Column(
            "sitemap_analysis_due_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "sitemap_analysis_attempts", sa.SmallInteger(), server_default="0", nullable=False
        ),
        sa.Column("sitemap_analysis_lease_token", sa.Uuid(), nullable=True),
        sa.Column("sitemap_analysis_lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sitemap_analysis_worker_id", sa.Uuid(), nullable=True),
        sa.Column("sitemap_analysis_error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "sitemap_analysis_status IN ('failed', 'pending', 'processing', 'queued', 'submitted')",
            name=op.f("ck_domains_sitemap_analysis_status"),
        ),
        sa.CheckConstraint(
            "sitemap_curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')",
            name=op.f("ck_domains_sitemap_curation_status"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_domains_created_by")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_domains_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domains")),
        sa.UniqueConstraint("tenant_id", "domain", name=op.f("uq_domains_tenant_id_domain")),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index(
        "ix_domains_created_at", "domains", ["tenant_id", "created_at", "id"], unique=False
    )
    op.create_index("ix_domains_next_scan_at", "domains", ["next_scan_at"], unique=False)
    op.create_index(
        "ix_domains_sitemap_analysis_due",
        "domains",
        ["sitemap_analysis_due_at", "id"],
        unique=False,
        postgresql_where=sa.text("sitemap_analysis_status = 'queued'"),
    )
    op.create_index(
        "ix_domains_sitemap_analysis_held",
        "domains",
        ["sitemap_analysis_worker_id"],
        unique=False,
        postgresql_where=sa.text("sitemap_analysis_status = 'processing'"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job_type", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), server_default="5", nullable=False),
        sa.Column(
            "params", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False
        ),
        sa.Column("progress", sa.Float(), server_default="0", nullable=False),
        sa.Column("phase", sa.Text(), nullable=True),
        sa.Column("result_data", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("domain_id", sa.Uuid(), nullable=True),
        sa.Column("batch_id", sa.Uuid(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
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
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column(
            "due_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("attempts", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('cancelled', 'complete', 'failed', 'pending', 'processing')",
            name=op.f("ck_jobs_status"),
        ),
        sa.CheckConstraint("progress >= 0 AND progress <= 1", name=op.f("ck_jobs_progress")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_jobs_created_by")),
        sa.ForeignKeyConstraint(
            ["domain_id"], ["domains.id"], name=op.f("fk_jobs_domain_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_jobs_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index(
        "ix_jobs_active",
        "jobs",
        ["tenant_id", "job_type", "subject"],
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'processing')"),
    )
    op.create_index("ix_jobs_created_at", "jobs", ["tenant_id", "created_at", "id"], unique=False)
    op.create_index("ix_jobs_domain_id", "jobs", ["domain_id"], unique=False)
    op.create_index(
        "ix_jobs_due",
        "jobs",
        ["job_type", "priority", "due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_jobs_held",
        "jobs",
        ["worker_id"],
        unique=False,
        postgresql_where=sa.text("status = 'processing'"),
    )
    op.create_table(
        "sitemap_files",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("domain_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("final_url", sa.Text(), nullable=True),
        sa.Column("parent_url", sa.Text(), nullable=True),
        sa.Column("sitemap_type", sa.Text(), nullable=True),
        sa.Column("discovery_method", sa.Text(), nullable=False),
        sa.Column("depth", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("url_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("is_gzipped", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("has_lastmod", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("has_priority", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("has_changefreq", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("response_time_ms", sa.Integer(), nullable=True),
        sa.Column("generator", sa.Text(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("content_hash", sa.Text(), nullable=True),
        sa.Column(
            "dropped", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False
        ),
        sa.Column("last_processed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("job_id", sa.Uuid(), nullable=True),
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
            "discovery_method IN ('robots_txt', 'common_path', 'html_link', 'sitemap_index', 'manual')",
            name=op.f("ck_sitemap_files_discovery_method"),
        ),
        sa.CheckConstraint(
            "sitemap_type IN ('index', 'standard', 'image', 'video', 'news', 'rss', 'atom', 'text')",
            name=op.f("ck_sitemap_files_sitemap_type"),
        ),
        sa.CheckConstraint(
            "status IN ('reading', 'ok', 'partial', 'refused', 'error')",
            name=op.f("ck_sitemap_files_status"),
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_sitemap_files_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["domain_id"],
            ["domains.id"],
            name=op.f("fk_sitemap_files_domain_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_sitemap_files_job_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_sitemap_files_tenant_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sitemap_files")),
        sa.UniqueConstraint(
            "domain_id", "url_digest", name=op.f("uq_sitemap_files_domain_id_url_digest")
        ),
        postgresql_with={"fillfactor": 80},
    )
    op.create_index(
        "ix_sitemap_files_created_at",
        "sitemap_files",
        ["tenant_id", "created_at", "id"],
        unique=False,
    )
    op.create_index("ix_sitemap_files_job_id", "sitemap_files", ["job_id"], unique=False)
    op.create_table(
        "sitemap_urls",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("sitemap_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_digest", sa.LargeBinary(), nullable=False),
        sa.Column("lastmod", sa.DateTime(timezone=True), nullable=True),
        sa.Column("changefreq", sa.Text(), nullable=True),
        sa.Column("priority", sa.Float(), nullable=True),
        sa.Column("extras", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["sitemap_id"],
            ["sitemap_files.id"],
            name=op.f("fk_sitemap_urls_sitemap_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sitemap_urls")),
        sa.UniqueConstraint(
            "sitemap_id", "url_digest", name=op.f("uq_sitemap_urls_sitemap_id_url_digest")
        ),
    )
    _create_default_tenant_and_system_user()


def _create_default_tenant_and_system_user() -> None:
    """Rows the schedulers make carry this user; open mode works as it."""
    tenants = sa.table("tenants", sa.column("id", sa.Uuid), sa.column("name", sa.Text))
    users = sa.table(
        "users",
        sa.column("id", sa.Uuid),
        sa.column("tenant_id", sa.Uuid),
        sa.column("name", sa.Text),
        sa.column("role", sa.Text),
    )
    tenant = UUID("00000000-0000-7000-8000-000000000001")
    system = UUID("5905e9fe-6c61-4694-b09a-6602017b000a")
    op.bulk_insert(tenants, [{"id": tenant, "name": "default"}])
    op.bulk_insert(users, [{"id": system, "tenant_id": tenant, "name": "system", "role": "admin"}])


def downgrade() -> None:
    op.drop_table("sitemap_urls")
    op.drop_index("ix_sitemap_files_job_id", table_name="sitemap_files")
    op.drop_index("ix_sitemap_files_created_at", table_name="sitemap_files")
    op.drop_table("sitemap_files")
    op.drop_index(
        "ix_jobs_held", table_name="jobs", postgresql_where=sa.text("status = 'processing'")
    )
    op.drop_index("ix_jobs_due", table_name="jobs", postgresql_where=sa.text("status = 'pending'"))
    op.drop_index("ix_jobs_domain_id", table_name="jobs")
    op.drop_index("ix_jobs_created_at", table_name="jobs")
    op.drop_index(
        "ix_jobs_active",
        table_name="jobs",
        postgresql_where=sa.text("status IN ('pending', 'processing')"),
    )
    op.drop_table("jobs")
    op.drop_index(
        "ix_domains_sitemap_analysis_held",
        table_name="domains",
        postgresql_where=sa.text("sitemap_analysis_status = 'processing'"),
    )
    op.drop_index(
        "ix_domains_sitemap_analysis_due",
        table_name="domains",
        postgresql_where=sa.text("sitemap_analysis_status = 'queued'"),
    )
    op.drop_index("ix_domains_next_scan_at", table_name="domains")
    op.drop_index("ix_domains_created_at", table_name="domains")
    op.drop_table("domains")
    op.drop_table("api_keys")
    op.drop_table("users")
    op.drop_table("workers")
    op.drop_table("tenants")
    op.drop_index("ix_stage_events_stage_at", table_name="stage_events")
    op.drop_index("ix_stage_events_row_id", table_name="stage_events")
    op.drop_table("stage_events")
    op.drop_table("stage_controls")
    op.drop_table("schedule_runs")
    op.drop_table("hosts")
    op.drop_index("ix_host_slots_host", table_name="host_slots")
    op.drop_table("host_slots")
    op.drop_index(
        "ix_dead_letters_open",
        table_name="dead_letters",
        postgresql_where=sa.text("state = 'open'"),
    )
    op.drop_index("ix_dead_letters_died_at", table_name="dead_letters")
    op.drop_table("dead_letters")
