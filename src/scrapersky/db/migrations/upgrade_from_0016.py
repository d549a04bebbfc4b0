"""Upgrade databases of the time when the initial schema consisted of 22 migrations.

Those migrations were replaced by `0001_initial` before the first release. Databases at one of the
revisions in `STEPS` or at `LAST_REVISION` still exist; each step leads to the next revision, and
`LAST_REVISION` has the same schema as `0001_initial`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

LAST_REVISION = "0022"
REPLACED_BY = "0001_initial"
TOO_OLD = frozenset(f"{number:04}" for number in range(1, 16))

BUDGET_CAPS_AND_SIGN_INS = (
    "ALTER TABLE budgets ADD COLUMN own_limit_usd numeric(14, 6)",
    "ALTER TABLE budgets ALTER COLUMN monthly_cap_usd DROP NOT NULL",
    # No operator agreed to a cap that a tenant's own users set, so it becomes the tenant's own
    # limit, and the installation's default applies until an operator sets a cap. A cap set by a
    # user of the default tenant, or on the command line, stays.
    """
    UPDATE budgets SET own_limit_usd = monthly_cap_usd, monthly_cap_usd = NULL
    FROM users
    WHERE users.id = budgets.changed_by
      AND users.tenant_id = budgets.tenant_id
      AND users.tenant_id <> '00000000-0000-7000-8000-000000000001'
    """,
    """
    CREATE TABLE installation_budget (
        id smallint CONSTRAINT pk_installation_budget PRIMARY KEY,
        monthly_cap_usd numeric(14, 6),
        changed_by uuid NOT NULL CONSTRAINT fk_installation_budget_changed_by REFERENCES users,
        changed_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT ck_installation_budget_single_row CHECK (id = 1)
    )
    """,
    "CREATE INDEX ix_cost_months_month ON cost_months (month)",
    """
    CREATE TABLE sign_in_buckets (
        key bytea CONSTRAINT pk_sign_in_buckets PRIMARY KEY,
        level float NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    "CREATE INDEX ix_sign_in_buckets_updated_at ON sign_in_buckets (updated_at)",
    """
    CREATE TABLE sign_in_devices (
        token_hash bytea CONSTRAINT pk_sign_in_devices PRIMARY KEY,
        user_id uuid NOT NULL CONSTRAINT fk_sign_in_devices_user_id REFERENCES users,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_used_at timestamptz NOT NULL DEFAULT now(),
        tenant_id uuid NOT NULL CONSTRAINT fk_sign_in_devices_tenant_id REFERENCES tenants
    )
    """,
    "CREATE INDEX ix_sign_in_devices_user_id ON sign_in_devices (user_id, last_used_at)",
    "CREATE INDEX ix_sign_in_devices_last_used_at ON sign_in_devices (last_used_at)",
)

# Only the column: the key is not in the database. The program re-keys the digests when it starts
# (`db/erasure_key.py`) and recognises them as they are until then.
KEYED_DIGESTS = (
    "ALTER TABLE suppressions ADD COLUMN key_id text",
    "CREATE INDEX ix_suppressions_erased ON suppressions (tenant_id, key_id) WHERE value IS NULL",
)

CHORE_FAILURES = (
    """
    CREATE TABLE chore_failures (
        name text CONSTRAINT pk_chore_failures PRIMARY KEY,
        error text NOT NULL,
        failures integer NOT NULL DEFAULT '1',
        began_at timestamptz NOT NULL DEFAULT now(),
        failed_at timestamptz NOT NULL DEFAULT now()
    )
    """,
)

# `sitemaps` in the result of a sitemap job was a number, which is now `sitemaps_count`. Only
# finished jobs are changed, which no worker updates, so running workers do not wait.
SITEMAPS_IN_RESULTS = (
    """
    UPDATE jobs SET result_data = result_data || jsonb_build_object(
        'sitemaps_count', result_data -> 'sitemaps',
        'sitemaps', coalesce((
            SELECT jsonb_agg(jsonb_build_object(
                'id', file.id, 'url', file.url,
                'type', file.sitemap_type, 'url_count', file.url_count
            ) ORDER BY file.depth, file.created_at, file.id)
            FROM (
                SELECT * FROM sitemap_files
                WHERE sitemap_files.job_id = jobs.id
                ORDER BY depth, created_at, id LIMIT 50
            ) AS file
        ), '[]')
    )
    WHERE job_type = 'sitemap' AND finished_at IS NOT NULL
        AND jsonb_typeof(result_data -> 'sitemaps') = 'number'
    """,
)

SLOW_HOSTS = (
    "ALTER TABLE hosts ADD COLUMN timeouts integer NOT NULL DEFAULT '0'",
    "ALTER TABLE hosts ADD COLUMN is_proven boolean NOT NULL DEFAULT 'false'",
    "ALTER TABLE host_slots ADD COLUMN taken_at timestamptz NOT NULL DEFAULT now()",
)

# A column with a constant default rewrites no row, and the partial indexes are empty at first.
LOSSES = tuple(
    statement.format(table=table, prefix=prefix)
    for table, prefix in (
        ("jobs", ""),
        ("places", "deep_scan_"),
        ("local_businesses", "domain_extraction_"),
        ("domains", ""),
        ("domains", "sitemap_analysis_"),
        ("sitemap_files", "sitemap_import_"),
        ("pages", "page_processing_"),
        ("webhook_deliveries", ""),
    )
    for statement in (
        "ALTER TABLE {table} ADD COLUMN {prefix}rescues smallint NOT NULL DEFAULT '0'",
        "ALTER TABLE {table} ADD COLUMN {prefix}interruptions smallint NOT NULL DEFAULT '0'",
        "CREATE INDEX ix_{table}_{prefix}isolated ON {table} (id) WHERE {prefix}rescues >= 2",
    )
)

STEPS: Mapping[str, Sequence[str]] = {
    "0016": BUDGET_CAPS_AND_SIGN_INS,
    "0017": KEYED_DIGESTS,
    "0018": CHORE_FAILURES,
    "0019": SITEMAPS_IN_RESULTS,
    "0020": SLOW_HOSTS,
    "0021": LOSSES,
}
"""Statements that lead from each revision to the next one."""

REVISIONS = frozenset({*STEPS, LAST_REVISION})


def upgrade_from(connection: Connection, revision: str) -> None:
    """Run the remaining steps and replace the revision, in the caller's transaction."""
    for before, statements in STEPS.items():
        if before >= revision:
            for statement in statements:
                connection.exec_driver_sql(statement)
    connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{REPLACED_BY}'")
