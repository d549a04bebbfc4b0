"""Create the initial schema.

It is plain SQL, so that it says the same with every version of SQLAlchemy, and so that it can be
compared with `pg_dump`. Tables are grouped by feature; a group refers only to groups above it.

Tables whose rows change status often leave room on their pages (fillfactor), so that an update does
not have to touch the indexes.
"""

from alembic import op

revision = "0001_initial"
down_revision = None


def upgrade() -> None:
    connection = op.get_bind()
    for group in SCHEMA:
        # The driver accepts one statement at a time. No statement contains this separator.
        for statement in group.strip().removesuffix(";").split(";\n"):
            connection.exec_driver_sql(statement)


def queue(prefix: str, *, initial: str) -> str:
    """Return the columns of a queue (`pipeline/queue.py`), without a comma at the end."""
    return f"""{prefix}status text NOT NULL DEFAULT '{initial}',
    {prefix}due_at timestamptz NOT NULL DEFAULT now(),
    {prefix}attempts smallint NOT NULL DEFAULT '0',
    {prefix}rescues smallint NOT NULL DEFAULT '0',
    {prefix}interruptions smallint NOT NULL DEFAULT '0',
    {prefix}lease_token uuid,
    {prefix}lease_expires_at timestamptz,
    {prefix}worker_id uuid,
    {prefix}error text"""


def queue_indexes(
    table: str, prefix: str, queued: str, processing: str, failed: str, *, order: str = ""
) -> str:
    """Return the indexes of a queue: each contains only the few rows in one state.

    `order` are columns that precede the due time: a host, a priority. The 2 is the number of
    rescues after which a row is worked in a process of its own.
    """
    status, name = f"{prefix}status", f"ix_{table}_{prefix}"
    first = f"{order}, " if order else ""
    return f"""\
CREATE INDEX {name}due ON {table} ({first}{prefix}due_at, id) WHERE {status} = '{queued}';
CREATE INDEX {name}held ON {table} ({prefix}worker_id) WHERE {status} = '{processing}';
CREATE INDEX {name}failed ON {table} (id) WHERE {status} = '{failed}';
CREATE INDEX {name}isolated ON {table} (id) WHERE {prefix}rescues >= 2;"""


ACCOUNTS = """
CREATE TABLE tenants (
    id uuid CONSTRAINT pk_tenants PRIMARY KEY,
    name text NOT NULL CONSTRAINT uq_tenants_name UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
    id uuid CONSTRAINT pk_users PRIMARY KEY,
    name text NOT NULL,
    issuer text,
    role text NOT NULL,
    deactivated_at timestamptz,
    password_hash text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_users_tenant_id REFERENCES tenants,
    CONSTRAINT ck_users_role CHECK (role IN ('viewer', 'curator', 'admin')),
    -- A user who comes with a token is known by its issuer and subject, and may have the name of a
    -- user who was created here, whose issuer is NULL.
    CONSTRAINT uq_users_tenant_id_issuer_name
        UNIQUE NULLS NOT DISTINCT (tenant_id, issuer, name)
);

CREATE TABLE api_keys (
    id uuid CONSTRAINT pk_api_keys PRIMARY KEY,
    user_id uuid NOT NULL CONSTRAINT fk_api_keys_user_id REFERENCES users,
    name text NOT NULL,
    role text NOT NULL,
    prefix text,
    key_hash bytea NOT NULL CONSTRAINT uq_api_keys_key_hash UNIQUE,
    previous_hash bytea CONSTRAINT uq_api_keys_previous_hash UNIQUE,
    previous_until timestamptz,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_api_keys_tenant_id REFERENCES tenants,
    CONSTRAINT ck_api_keys_role CHECK (role IN ('viewer', 'curator', 'admin'))
);

CREATE TABLE sessions (
    id uuid CONSTRAINT pk_sessions PRIMARY KEY,
    user_id uuid NOT NULL CONSTRAINT fk_sessions_user_id REFERENCES users,
    api_key_id uuid CONSTRAINT fk_sessions_api_key_id REFERENCES api_keys,
    role text NOT NULL,
    token_hash bytea NOT NULL CONSTRAINT uq_sessions_token_hash UNIQUE,
    client text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    tenant_id uuid NOT NULL CONSTRAINT fk_sessions_tenant_id REFERENCES tenants,
    CONSTRAINT ck_sessions_role CHECK (role IN ('viewer', 'curator', 'admin'))
);
CREATE INDEX ix_sessions_expires_at ON sessions (expires_at);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);

CREATE TABLE sign_in_buckets (
    key bytea CONSTRAINT pk_sign_in_buckets PRIMARY KEY,
    level float NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_sign_in_buckets_updated_at ON sign_in_buckets (updated_at);

CREATE TABLE sign_in_devices (
    token_hash bytea CONSTRAINT pk_sign_in_devices PRIMARY KEY,
    user_id uuid NOT NULL CONSTRAINT fk_sign_in_devices_user_id REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_sign_in_devices_tenant_id REFERENCES tenants
);
CREATE INDEX ix_sign_in_devices_last_used_at ON sign_in_devices (last_used_at);
CREATE INDEX ix_sign_in_devices_user_id ON sign_in_devices (user_id, last_used_at);

CREATE TABLE audit_log (
    id bigint GENERATED BY DEFAULT AS IDENTITY CONSTRAINT pk_audit_log PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor_id uuid NOT NULL CONSTRAINT fk_audit_log_actor_id REFERENCES users,
    api_key_id uuid CONSTRAINT fk_audit_log_api_key_id REFERENCES api_keys,
    request_id text,
    via text NOT NULL,
    action text NOT NULL,
    subject_kind text NOT NULL,
    subject_id text,
    details jsonb NOT NULL DEFAULT '{}',
    tenant_id uuid NOT NULL CONSTRAINT fk_audit_log_tenant_id REFERENCES tenants
);
CREATE INDEX ix_audit_log_at ON audit_log (tenant_id, at, id);
"""

ENGINE = """
CREATE TABLE workers (
    id uuid CONSTRAINT pk_workers PRIMARY KEY,
    hostname text NOT NULL,
    boot_id text NOT NULL,
    pid integer NOT NULL,
    pid_start bigint NOT NULL,
    version text NOT NULL,
    stages jsonb NOT NULL DEFAULT '{}',
    vitals jsonb NOT NULL DEFAULT '{}',
    started_at timestamptz NOT NULL DEFAULT now(),
    beat_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE hosts (
    host text CONSTRAINT pk_hosts PRIMARY KEY,
    next_slot_at timestamptz NOT NULL DEFAULT now(),
    max_concurrency integer,
    crawl_delay_seconds float,
    failures integer NOT NULL DEFAULT '0',
    timeouts integer NOT NULL DEFAULT '0',
    is_proven boolean NOT NULL DEFAULT 'false',
    circuit_open_until timestamptz,
    circuit_reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX ix_hosts_circuit_open_until ON hosts (circuit_open_until)
    WHERE circuit_open_until IS NOT NULL;

CREATE TABLE host_slots (
    id uuid CONSTRAINT pk_host_slots PRIMARY KEY,
    host text NOT NULL,
    worker_id uuid,
    taken_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ix_host_slots_host ON host_slots (host);

CREATE TABLE stage_controls (
    stage text CONSTRAINT pk_stage_controls PRIMARY KEY,
    paused boolean NOT NULL DEFAULT 'false',
    pace jsonb,
    note text,
    changed_by uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Rows that are completed together share one event, which has no row_id: an event per row was most
-- of the cost of completing it.
CREATE TABLE stage_events (
    id bigint GENERATED BY DEFAULT AS IDENTITY CONSTRAINT pk_stage_events PRIMARY KEY,
    stage text NOT NULL,
    row_id uuid,
    kind text NOT NULL,
    rows integer NOT NULL DEFAULT '1',
    worker_id uuid,
    attempt smallint,
    durations_ms integer[],
    error text,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_stage_events_row_id ON stage_events (row_id, id);
CREATE INDEX ix_stage_events_stage_at ON stage_events (stage, at);

CREATE TABLE dead_letters (
    id uuid CONSTRAINT pk_dead_letters PRIMARY KEY,
    tenant_id uuid,
    stage text NOT NULL,
    row_id uuid NOT NULL,
    attempts smallint NOT NULL,
    error_class text NOT NULL,
    error text NOT NULL,
    traceback text,
    first_failed_at timestamptz NOT NULL DEFAULT now(),
    died_at timestamptz NOT NULL DEFAULT now(),
    worker text NOT NULL,
    state text NOT NULL DEFAULT 'open',
    note text,
    closed_at timestamptz,
    closed_by uuid,
    CONSTRAINT ck_dead_letters_state CHECK (state IN ('open', 'replayed', 'discarded'))
);
CREATE INDEX ix_dead_letters_died_at ON dead_letters (died_at, id);
-- A row has at most one open dead letter per stage.
CREATE UNIQUE INDEX ix_dead_letters_open ON dead_letters (stage, row_id) WHERE state = 'open';
CREATE INDEX ix_dead_letters_open_died_at ON dead_letters (tenant_id, died_at, id)
    WHERE state = 'open';

CREATE TABLE schedule_runs (
    name text NOT NULL,
    slot timestamptz NOT NULL,
    worker_id uuid,
    started_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_schedule_runs PRIMARY KEY (name, slot)
);

CREATE TABLE chore_failures (
    name text CONSTRAINT pk_chore_failures PRIMARY KEY,
    error text NOT NULL,
    failures integer NOT NULL DEFAULT '1',
    began_at timestamptz NOT NULL DEFAULT now(),
    failed_at timestamptz NOT NULL DEFAULT now()
);
"""

ALERTS = """
CREATE TABLE alerts (
    id uuid CONSTRAINT pk_alerts PRIMARY KEY,
    rule text NOT NULL,
    subject text NOT NULL DEFAULT '',
    sentence text NOT NULL,
    began_at timestamptz NOT NULL DEFAULT now(),
    cleared_at timestamptz
);
CREATE INDEX ix_alerts_began_at ON alerts (began_at, id);
-- An alert fires at most once at a time.
CREATE UNIQUE INDEX ix_alerts_firing ON alerts (rule, subject) WHERE cleared_at IS NULL;

CREATE TABLE alert_posts (
    id uuid CONSTRAINT pk_alert_posts PRIMARY KEY,
    alert_id uuid NOT NULL
        CONSTRAINT fk_alert_posts_alert_id REFERENCES alerts ON DELETE CASCADE,
    event text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT '0',
    ended_at timestamptz,
    error text,
    CONSTRAINT ck_alert_posts_event CHECK (event IN ('began', 'cleared'))
);
CREATE INDEX ix_alert_posts_alert_id ON alert_posts (alert_id);
CREATE INDEX ix_alert_posts_due ON alert_posts (due_at) WHERE ended_at IS NULL;
"""

DOMAINS_AND_JOBS = f"""
CREATE TABLE domains (
    id uuid CONSTRAINT pk_domains PRIMARY KEY,
    domain text NOT NULL,
    base_url text,
    sitemap_curation_status text NOT NULL DEFAULT 'New',
    last_scan timestamptz,
    next_scan_at timestamptz,
    scan_interval interval NOT NULL DEFAULT '168 hours',
    next_scan_why text,
    scan_warning text,
    robots_state jsonb,
    scan_failures integer NOT NULL DEFAULT '0',
    total_sitemaps integer NOT NULL DEFAULT '0',
    sitemap_urls bigint NOT NULL DEFAULT '0',
    last_scan_error text,
    last_sitemap_job_id uuid,
    local_business_id uuid,
    metadata_read_at timestamptz,
    site_state text,
    site_state_reason text,
    redirects_to text,
    title text,
    description text,
    language text,
    favicon_url text,
    logo_url text,
    cms text,
    cms_version text,
    is_wordpress boolean,
    wordpress_version text,
    has_elementor boolean,
    site_builder text,
    shop_system text,
    tech_stack jsonb NOT NULL DEFAULT '[]',
    email_addresses text[] NOT NULL DEFAULT '{{}}',
    phone_numbers text[] NOT NULL DEFAULT '{{}}',
    social_links text[] NOT NULL DEFAULT '{{}}',
    has_contact_form boolean,
    meta_json jsonb NOT NULL DEFAULT '{{}}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_domains_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_domains_tenant_id REFERENCES tenants,
    {queue("sitemap_analysis_", initial="pending")},
    {queue("", initial="pending")},
    CONSTRAINT ck_domains_site_state
        CHECK (site_state IN ('ok', 'parked', 'redirected', 'blocked', 'disallowed',
            'javascript_only', 'under_construction', 'empty', 'dead')),
    CONSTRAINT ck_domains_sitemap_analysis_status
        CHECK (sitemap_analysis_status IN ('failed', 'pending', 'processing', 'queued',
            'submitted')),
    CONSTRAINT ck_domains_sitemap_curation_status
        CHECK (sitemap_curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit',
            'Archived')),
    CONSTRAINT ck_domains_status
        CHECK (status IN ('completed', 'error', 'new', 'pending', 'processing')),
    CONSTRAINT uq_domains_tenant_id_domain UNIQUE (tenant_id, domain)
) WITH (fillfactor = 80);
{queue_indexes("domains", "sitemap_analysis_", "queued", "processing", "failed")}
{queue_indexes("domains", "", "pending", "processing", "error")}
CREATE INDEX ix_domains_created_at ON domains (tenant_id, created_at, id);
CREATE INDEX ix_domains_local_business_id ON domains (local_business_id);
CREATE INDEX ix_domains_next_scan_at ON domains (next_scan_at);
CREATE INDEX ix_domains_with_warning ON domains (tenant_id) WHERE scan_warning IS NOT NULL;

CREATE TABLE jobs (
    id uuid CONSTRAINT pk_jobs PRIMARY KEY,
    job_type text NOT NULL,
    subject text NOT NULL,
    priority smallint NOT NULL DEFAULT '5',
    params jsonb NOT NULL DEFAULT '{{}}',
    progress float NOT NULL DEFAULT '0',
    phase text,
    result_data jsonb,
    domain_id uuid CONSTRAINT fk_jobs_domain_id REFERENCES domains ON DELETE CASCADE,
    -- The batch that created the job. A batch may also contain jobs that existed before: batch_jobs.
    batch_id uuid,
    started_at timestamptz,
    finished_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_jobs_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_jobs_tenant_id REFERENCES tenants,
    {queue("", initial="pending")},
    CONSTRAINT ck_jobs_progress CHECK (progress >= 0 AND progress <= 1),
    CONSTRAINT ck_jobs_status
        CHECK (status IN ('cancelled', 'complete', 'failed', 'pending', 'processing'))
) WITH (fillfactor = 80);
{queue_indexes("jobs", "", "pending", "processing", "failed", order="job_type, priority")}
-- At most one active job per subject: a repeated request returns the active one.
CREATE UNIQUE INDEX ix_jobs_active ON jobs (tenant_id, job_type, subject)
    WHERE status IN ('pending', 'processing');
CREATE INDEX ix_jobs_created_at ON jobs (tenant_id, created_at, id);
CREATE INDEX ix_jobs_domain_id ON jobs (domain_id);
CREATE INDEX ix_jobs_finished_at ON jobs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE idempotency_keys (
    tenant_id uuid NOT NULL
        CONSTRAINT fk_idempotency_keys_tenant_id REFERENCES tenants ON DELETE CASCADE,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    headers jsonb NOT NULL,
    body bytea,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (tenant_id, key)
);
CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);
"""

SITEMAPS = f"""
CREATE TABLE sitemap_files (
    id uuid CONSTRAINT pk_sitemap_files PRIMARY KEY,
    domain_id uuid NOT NULL
        CONSTRAINT fk_sitemap_files_domain_id REFERENCES domains ON DELETE CASCADE,
    url text NOT NULL,
    url_digest bytea NOT NULL,
    final_url text,
    parent_url text,
    sitemap_type text,
    discovery_method text NOT NULL,
    depth smallint NOT NULL DEFAULT '0',
    status text NOT NULL,
    reason text,
    url_count integer NOT NULL DEFAULT '0',
    size_bytes bigint NOT NULL DEFAULT '0',
    is_gzipped boolean NOT NULL DEFAULT 'false',
    has_lastmod boolean NOT NULL DEFAULT 'false',
    has_priority boolean NOT NULL DEFAULT 'false',
    has_changefreq boolean NOT NULL DEFAULT 'false',
    http_status integer,
    response_time_ms integer,
    generator text,
    etag text,
    last_modified text,
    content_hash text,
    dropped jsonb NOT NULL DEFAULT '{{}}',
    last_processed_at timestamptz,
    last_asked_at timestamptz,
    changed_at timestamptz,
    gone_at timestamptz,
    index_lastmod timestamptz,
    lastmod_kept integer NOT NULL DEFAULT '0',
    error_streak integer NOT NULL DEFAULT '0',
    job_id uuid CONSTRAINT fk_sitemap_files_job_id REFERENCES jobs ON DELETE SET NULL,
    curation_status text NOT NULL DEFAULT 'New',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_sitemap_files_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_sitemap_files_tenant_id REFERENCES tenants,
    {queue("sitemap_import_", initial="New")},
    CONSTRAINT ck_sitemap_files_curation_status
        CHECK (curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')),
    CONSTRAINT ck_sitemap_files_discovery_method
        CHECK (discovery_method IN ('robots_txt', 'common_path', 'html_link', 'sitemap_index',
            'manual')),
    CONSTRAINT ck_sitemap_files_sitemap_import_status
        CHECK (sitemap_import_status IN ('Complete', 'Error', 'New', 'Processing', 'Queued')),
    CONSTRAINT ck_sitemap_files_sitemap_type
        CHECK (sitemap_type IN ('index', 'standard', 'image', 'video', 'news', 'rss', 'atom',
            'text')),
    CONSTRAINT ck_sitemap_files_status
        CHECK (status IN ('unread', 'reading', 'ok', 'partial', 'refused', 'error')),
    CONSTRAINT uq_sitemap_files_domain_id_url_digest UNIQUE (domain_id, url_digest)
) WITH (fillfactor = 80);
{queue_indexes("sitemap_files", "sitemap_import_", "Queued", "Processing", "Error")}
CREATE INDEX ix_sitemap_files_created_at ON sitemap_files (tenant_id, created_at, id);
CREATE INDEX ix_sitemap_files_job_id ON sitemap_files (job_id);

-- A domain may have ten million of these rows, so there are few indexes, the natural key is the
-- primary key, and the id has no index.
CREATE TABLE sitemap_urls (
    id bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL,
    sitemap_id uuid NOT NULL
        CONSTRAINT fk_sitemap_urls_sitemap_id REFERENCES sitemap_files ON DELETE CASCADE,
    url text NOT NULL,
    url_digest bytea NOT NULL,
    lastmod timestamptz,
    changefreq text,
    priority float,
    extras jsonb,
    may_repeat boolean NOT NULL DEFAULT 'true',
    first_seen timestamptz NOT NULL,
    changed_at timestamptz,
    gone_at timestamptz,
    CONSTRAINT pk_sitemap_urls PRIMARY KEY (sitemap_id, url_digest)
);
CREATE INDEX ix_sitemap_urls_changed_at ON sitemap_urls (sitemap_id, changed_at)
    WHERE changed_at IS NOT NULL;
-- All rows of a batch share their timestamp. Deduplicating such index entries made loads six times
-- slower than keeping each entry.
CREATE INDEX ix_sitemap_urls_first_seen
    ON sitemap_urls (sitemap_id, first_seen) WITH (deduplicate_items = off);
CREATE INDEX ix_sitemap_urls_gone_at ON sitemap_urls (sitemap_id, gone_at)
    WHERE gone_at IS NOT NULL;

CREATE TABLE batches (
    id uuid CONSTRAINT pk_batches PRIMARY KEY,
    max_pages bigint NOT NULL,
    accepted integer NOT NULL,
    rejected integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_batches_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_batches_tenant_id REFERENCES tenants
);

CREATE TABLE batch_jobs (
    batch_id uuid NOT NULL
        CONSTRAINT fk_batch_jobs_batch_id REFERENCES batches ON DELETE CASCADE,
    position integer NOT NULL,
    domain text NOT NULL,
    job_id uuid CONSTRAINT fk_batch_jobs_job_id REFERENCES jobs ON DELETE SET NULL,
    already_active boolean NOT NULL,
    CONSTRAINT pk_batch_jobs PRIMARY KEY (batch_id, position)
);
CREATE INDEX ix_batch_jobs_job_id ON batch_jobs (job_id);
"""

PAGES = f"""
CREATE TABLE pages (
    id uuid CONSTRAINT pk_pages PRIMARY KEY,
    domain_id uuid NOT NULL CONSTRAINT fk_pages_domain_id REFERENCES domains ON DELETE CASCADE,
    url text NOT NULL,
    url_digest bytea NOT NULL,
    sitemap_file_id uuid
        CONSTRAINT fk_pages_sitemap_file_id REFERENCES sitemap_files ON DELETE SET NULL,
    lastmod timestamptz,
    path_depth integer NOT NULL,
    host text NOT NULL DEFAULT '',
    page_type text,
    page_rule text,
    page_confidence float,
    priority_level smallint NOT NULL DEFAULT '5',
    page_curation_status text NOT NULL DEFAULT 'New',
    link_text text,
    read_at timestamptz,
    final_url text,
    http_status smallint,
    title text,
    description text,
    h1 text,
    canonical text,
    robots_meta text,
    language text,
    schema_types text[],
    forms smallint,
    has_contact_form boolean,
    word_count integer,
    contact_scrape_status text NOT NULL DEFAULT 'New',
    contacts_found integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_pages_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_pages_tenant_id REFERENCES tenants,
    {queue("page_processing_", initial="New")},
    CONSTRAINT ck_pages_contact_scrape_status
        CHECK (contact_scrape_status IN ('New', 'ContactFound', 'NoContactFound', 'Error',
            'NotAFit')),
    CONSTRAINT ck_pages_page_curation_status
        CHECK (page_curation_status IN ('New', 'Selected', 'Queued', 'Processing', 'Complete',
            'Error', 'Skipped')),
    CONSTRAINT ck_pages_page_processing_status
        CHECK (page_processing_status IN ('Complete', 'Error', 'Filtered', 'New', 'Processing',
            'Queued')),
    CONSTRAINT uq_pages_domain_id_url_digest UNIQUE (domain_id, url_digest)
) WITH (fillfactor = 80);
{queue_indexes("pages", "page_processing_", "Queued", "Processing", "Error", order="host, priority_level")}
-- Without the id, pages that were imported together share one index entry.
CREATE INDEX ix_pages_created_at ON pages (tenant_id, created_at);
CREATE INDEX ix_pages_domain_id ON pages (domain_id, created_at);
CREATE INDEX ix_pages_sitemap_file_id ON pages (sitemap_file_id, created_at);
CREATE INDEX ix_pages_unclassified ON pages (id) WHERE page_type IS NULL;
CREATE INDEX ix_pages_worth_reading ON pages (domain_id, priority_level)
    WHERE priority_level <= 12 AND page_type IS NOT NULL;
"""

PLACES = f"""
CREATE TABLE places (
    id uuid CONSTRAINT pk_places PRIMARY KEY,
    provider text NOT NULL,
    place_id text NOT NULL,
    name text,
    formatted_address text,
    address_parts jsonb NOT NULL DEFAULT '{{}}',
    latitude float,
    longitude float,
    phone text,
    phone_raw text,
    website_url text,
    emails text[] NOT NULL DEFAULT '{{}}',
    profiles text[] NOT NULL DEFAULT '{{}}',
    types text[] NOT NULL DEFAULT '{{}}',
    category text,
    rating float,
    user_ratings_total integer,
    price_level smallint,
    business_status text,
    hours jsonb,
    maps_url text,
    is_service_area boolean NOT NULL DEFAULT 'false',
    raw_data jsonb NOT NULL DEFAULT '{{}}',
    details_at timestamptz,
    refresh_asked_at timestamptz,
    seen_at timestamptz NOT NULL DEFAULT now(),
    gone_at timestamptz,
    moved_to text,
    search_id uuid CONSTRAINT fk_places_search_id REFERENCES jobs ON DELETE SET NULL,
    local_business_id uuid,
    status text NOT NULL DEFAULT 'New',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_places_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_places_tenant_id REFERENCES tenants,
    {queue("deep_scan_", initial="New")},
    CONSTRAINT ck_places_business_status
        CHECK (business_status IN ('operational', 'closed_temporarily', 'closed_permanently',
            'future_opening')),
    CONSTRAINT ck_places_coordinates
        CHECK (latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180),
    CONSTRAINT ck_places_deep_scan_status
        CHECK (deep_scan_status IN ('Completed', 'Error', 'New', 'Processing', 'Queued')),
    CONSTRAINT ck_places_provider CHECK (provider IN ('google', 'osm', 'csv', 'site')),
    CONSTRAINT ck_places_status
        CHECK (status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')),
    CONSTRAINT uq_places_tenant_id_provider_place_id UNIQUE (tenant_id, provider, place_id)
) WITH (fillfactor = 80);
{queue_indexes("places", "deep_scan_", "Queued", "Processing", "Error")}
CREATE INDEX ix_places_created_at ON places (tenant_id, created_at, id);
CREATE INDEX ix_places_local_business_id ON places (local_business_id);

CREATE TABLE saved_searches (
    id uuid CONSTRAINT pk_saved_searches PRIMARY KEY,
    subject text NOT NULL,
    params jsonb NOT NULL,
    repeat_days integer NOT NULL,
    next_run_at timestamptz NOT NULL,
    last_search_id uuid
        CONSTRAINT fk_saved_searches_last_search_id REFERENCES jobs ON DELETE SET NULL,
    is_active boolean NOT NULL DEFAULT 'true',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_saved_searches_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_saved_searches_tenant_id REFERENCES tenants,
    CONSTRAINT ck_saved_searches_repeat_days CHECK (repeat_days >= 1),
    CONSTRAINT uq_saved_searches_tenant_id_subject UNIQUE (tenant_id, subject)
);
CREATE INDEX ix_saved_searches_next_run_at ON saved_searches (next_run_at) WHERE is_active;

CREATE TABLE search_tiles (
    search_id uuid NOT NULL
        CONSTRAINT fk_search_tiles_search_id REFERENCES jobs ON DELETE CASCADE,
    path text NOT NULL,
    south float NOT NULL,
    west float NOT NULL,
    north float NOT NULL,
    east float NOT NULL,
    state text NOT NULL DEFAULT 'waiting',
    found integer NOT NULL DEFAULT '0',
    "new" integer NOT NULL DEFAULT '0',
    probed text[],
    next_token text,
    asked_again boolean NOT NULL DEFAULT 'false',
    requests integer NOT NULL DEFAULT '0',
    paid_requests integer NOT NULL DEFAULT '0',
    note text,
    updated_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_search_tiles_tenant_id REFERENCES tenants,
    CONSTRAINT ck_search_tiles_state
        CHECK (state IN ('waiting', 'split', 'joined', 'done', 'known', 'saturated',
            'not_asked')),
    CONSTRAINT pk_search_tiles PRIMARY KEY (search_id, path)
);

CREATE TABLE search_places (
    search_id uuid NOT NULL
        CONSTRAINT fk_search_places_search_id REFERENCES jobs ON DELETE CASCADE,
    place_id uuid NOT NULL
        CONSTRAINT fk_search_places_place_id REFERENCES places ON DELETE CASCADE,
    position integer NOT NULL,
    tile text NOT NULL DEFAULT '',
    fits boolean NOT NULL DEFAULT 'true',
    sighted text NOT NULL,
    changes jsonb NOT NULL DEFAULT '{{}}',
    seen_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_search_places_tenant_id REFERENCES tenants,
    CONSTRAINT ck_search_places_sighted CHECK (sighted IN ('new', 'changed', 'same')),
    CONSTRAINT pk_search_places PRIMARY KEY (search_id, place_id)
);
CREATE INDEX ix_search_places_place_id ON search_places (place_id);

CREATE TABLE geocoded_areas (
    query text CONSTRAINT pk_geocoded_areas PRIMARY KEY,
    name text NOT NULL,
    south float NOT NULL,
    west float NOT NULL,
    north float NOT NULL,
    east float NOT NULL,
    country text,
    osm text,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE provider_days (
    provider text NOT NULL,
    method text NOT NULL,
    day date NOT NULL,
    requests integer NOT NULL DEFAULT '0',
    CONSTRAINT pk_provider_days PRIMARY KEY (provider, method, day)
);

CREATE TABLE provider_pauses (
    provider text NOT NULL,
    method text NOT NULL,
    until timestamptz NOT NULL,
    reason text NOT NULL,
    CONSTRAINT pk_provider_pauses PRIMARY KEY (provider, method)
);
"""

COSTS = """
-- The ledger. An entry is stored before its request is sent, so that a crash cannot hide a cost.
CREATE TABLE cost_entries (
    id uuid CONSTRAINT pk_cost_entries PRIMARY KEY,
    provider text NOT NULL,
    sku text NOT NULL,
    month date NOT NULL,
    usd numeric(14, 6) NOT NULL,
    is_free boolean NOT NULL,
    state text NOT NULL DEFAULT 'asked',
    search_id uuid CONSTRAINT fk_cost_entries_search_id REFERENCES jobs ON DELETE SET NULL,
    place_id uuid CONSTRAINT fk_cost_entries_place_id REFERENCES places ON DELETE SET NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    settled_at timestamptz,
    note text,
    tenant_id uuid NOT NULL CONSTRAINT fk_cost_entries_tenant_id REFERENCES tenants,
    CONSTRAINT ck_cost_entries_state CHECK (state IN ('asked', 'billed', 'not_billed'))
);
CREATE INDEX ix_cost_entries_asked_at ON cost_entries (tenant_id, asked_at, id);
CREATE INDEX ix_cost_entries_search_id ON cost_entries (search_id);

CREATE TABLE cost_months (
    tenant_id uuid NOT NULL CONSTRAINT fk_cost_months_tenant_id REFERENCES tenants,
    month date NOT NULL,
    spent_usd numeric(14, 6) NOT NULL DEFAULT '0',
    requests integer NOT NULL DEFAULT '0',
    CONSTRAINT pk_cost_months PRIMARY KEY (tenant_id, month)
);
CREATE INDEX ix_cost_months_month ON cost_months (month);

CREATE TABLE cost_meters (
    provider text NOT NULL,
    sku text NOT NULL,
    month date NOT NULL,
    requests bigint NOT NULL DEFAULT '0',
    CONSTRAINT pk_cost_meters PRIMARY KEY (provider, sku, month)
);

CREATE TABLE budgets (
    tenant_id uuid CONSTRAINT pk_budgets PRIMARY KEY
        CONSTRAINT fk_budgets_tenant_id REFERENCES tenants,
    monthly_cap_usd numeric(14, 6),
    -- Operators set the cap. A tenant's admin may set a lower limit.
    own_limit_usd numeric(14, 6),
    changed_by uuid NOT NULL CONSTRAINT fk_budgets_changed_by REFERENCES users,
    changed_at timestamptz NOT NULL DEFAULT now()
);

-- The cap over all tenants together: at most one row.
CREATE TABLE installation_budget (
    id smallint CONSTRAINT pk_installation_budget PRIMARY KEY,
    monthly_cap_usd numeric(14, 6),
    changed_by uuid NOT NULL CONSTRAINT fk_installation_budget_changed_by REFERENCES users,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ck_installation_budget_single_row CHECK (id = 1)
);
"""

BUSINESSES = f"""
CREATE TABLE local_businesses (
    id uuid CONSTRAINT pk_local_businesses PRIMARY KEY,
    place_id uuid
        CONSTRAINT fk_local_businesses_place_id REFERENCES places ON DELETE SET NULL CONSTRAINT uq_local_businesses_place_id UNIQUE,
    business_name text,
    name_key text,
    address text,
    street text,
    house_number text,
    postal_code text,
    city text,
    region text,
    country text,
    latitude float,
    longitude float,
    cell text,
    phone text,
    phone_raw text,
    website_url text,
    website_kind text,
    website_note text,
    site_key text,
    domain_id uuid
        CONSTRAINT fk_local_businesses_domain_id REFERENCES domains ON DELETE SET NULL,
    emails text[] NOT NULL DEFAULT '{{}}',
    profiles text[] NOT NULL DEFAULT '{{}}',
    categories text[] NOT NULL DEFAULT '{{}}',
    rating float,
    reviews_count integer,
    price_level integer,
    hours jsonb,
    business_status text,
    facts_from jsonb NOT NULL DEFAULT '{{}}',
    refreshed_at timestamptz,
    status text NOT NULL DEFAULT 'New',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_local_businesses_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_local_businesses_tenant_id REFERENCES tenants,
    {queue("domain_extraction_", initial="New")},
    CONSTRAINT ck_local_businesses_business_status
        CHECK (business_status IN ('operational', 'closed_temporarily', 'closed_permanently',
            'future_opening')),
    CONSTRAINT ck_local_businesses_coordinates
        CHECK (latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180),
    CONSTRAINT ck_local_businesses_domain_extraction_status
        CHECK (domain_extraction_status IN ('Completed', 'Error', 'New', 'Processing',
            'Queued')),
    CONSTRAINT ck_local_businesses_status
        CHECK (status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')),
    CONSTRAINT ck_local_businesses_website_kind
        CHECK (website_kind IN ('own', 'profile', 'directory', 'marketplace', 'site_builder',
            'unusable', 'none'))
) WITH (fillfactor = 80);
{queue_indexes("local_businesses", "domain_extraction_", "Queued", "Processing", "Error")}
CREATE INDEX ix_local_businesses_cells ON local_businesses (tenant_id, cell);
CREATE INDEX ix_local_businesses_created_at ON local_businesses (tenant_id, created_at, id);
CREATE INDEX ix_local_businesses_domain_id ON local_businesses (domain_id);
CREATE INDEX ix_local_businesses_name_key ON local_businesses (tenant_id, name_key);
CREATE INDEX ix_local_businesses_phone ON local_businesses (tenant_id, phone);
CREATE INDEX ix_local_businesses_site_key ON local_businesses (tenant_id, site_key);

CREATE TABLE business_sightings (
    id uuid CONSTRAINT pk_business_sightings PRIMARY KEY,
    business_id uuid NOT NULL
        CONSTRAINT fk_business_sightings_business_id REFERENCES local_businesses ON DELETE CASCADE,
    provider text NOT NULL,
    source_key text NOT NULL,
    place_id uuid CONSTRAINT fk_business_sightings_place_id REFERENCES places ON DELETE CASCADE,
    domain_id uuid
        CONSTRAINT fk_business_sightings_domain_id REFERENCES domains ON DELETE SET NULL,
    facts jsonb NOT NULL DEFAULT '{{}}',
    matched_by text NOT NULL,
    score float NOT NULL DEFAULT '1',
    why text,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_business_sightings_tenant_id REFERENCES tenants,
    CONSTRAINT ck_business_sightings_matched_by
        CHECK (matched_by IN ('first', 'place_id', 'moved', 'domain', 'phone',
            'name_and_distance', 'person')),
    CONSTRAINT ck_business_sightings_provider
        CHECK (provider IN ('google', 'osm', 'csv', 'site')),
    CONSTRAINT uq_business_sightings_tenant_id_provider_source_key
        UNIQUE (tenant_id, provider, source_key)
);
CREATE INDEX ix_business_sightings_business_id ON business_sightings (business_id);
CREATE INDEX ix_business_sightings_domain_id ON business_sightings (domain_id);
CREATE INDEX ix_business_sightings_place_id ON business_sightings (place_id);

CREATE TABLE merge_candidates (
    id uuid CONSTRAINT pk_merge_candidates PRIMARY KEY,
    left_id uuid NOT NULL
        CONSTRAINT fk_merge_candidates_left_id REFERENCES local_businesses ON DELETE CASCADE,
    right_id uuid NOT NULL
        CONSTRAINT fk_merge_candidates_right_id REFERENCES local_businesses ON DELETE CASCADE,
    score float NOT NULL,
    reasons text[] NOT NULL DEFAULT '{{}}',
    state text NOT NULL DEFAULT 'open',
    decided_by uuid CONSTRAINT fk_merge_candidates_decided_by REFERENCES users,
    decided_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_merge_candidates_tenant_id REFERENCES tenants,
    -- A pair is stored once, whichever of the two was found first.
    CONSTRAINT ck_merge_candidates_once CHECK (left_id < right_id),
    CONSTRAINT ck_merge_candidates_state CHECK (state IN ('open', 'merged', 'apart')),
    CONSTRAINT uq_merge_candidates_left_id_right_id UNIQUE (left_id, right_id)
);
CREATE INDEX ix_merge_candidates_created_at ON merge_candidates (tenant_id, created_at, id);
CREATE INDEX ix_merge_candidates_open ON merge_candidates (tenant_id) WHERE state = 'open';
CREATE INDEX ix_merge_candidates_right_id ON merge_candidates (right_id);

-- Places and domains point back to their business, so these references follow all three tables.
ALTER TABLE places ADD CONSTRAINT fk_places_local_business_id
    FOREIGN KEY (local_business_id) REFERENCES local_businesses ON DELETE SET NULL;
ALTER TABLE domains ADD CONSTRAINT fk_domains_local_business_id
    FOREIGN KEY (local_business_id) REFERENCES local_businesses ON DELETE SET NULL;
"""

CONTACTS_AND_LEADS = """
CREATE TABLE contacts (
    id uuid CONSTRAINT pk_contacts PRIMARY KEY,
    domain_id uuid NOT NULL
        CONSTRAINT fk_contacts_domain_id REFERENCES domains ON DELETE CASCADE,
    page_id uuid CONSTRAINT fk_contacts_page_id REFERENCES pages ON DELETE SET NULL,
    kind text NOT NULL,
    value text NOT NULL,
    raw text,
    name text,
    role text,
    email_type text,
    is_role_address boolean NOT NULL DEFAULT 'false',
    same_site boolean NOT NULL DEFAULT 'false',
    method text NOT NULL,
    snippet text,
    confidence float NOT NULL,
    sightings integer NOT NULL DEFAULT '1',
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    edited_at timestamptz,
    note text,
    contact_curation_status text NOT NULL DEFAULT 'New',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_contacts_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_contacts_tenant_id REFERENCES tenants,
    CONSTRAINT ck_contacts_contact_curation_status
        CHECK (contact_curation_status IN ('New', 'Selected', 'Queued', 'Processing',
            'Complete', 'Error', 'Skipped')),
    CONSTRAINT ck_contacts_email_type
        CHECK (email_type IN ('SERVICE', 'CORPORATE', 'FREE', 'UNKNOWN')),
    CONSTRAINT ck_contacts_kind CHECK (kind IN ('email', 'phone', 'social')),
    CONSTRAINT uq_contacts_domain_id_kind_value UNIQUE (domain_id, kind, value)
) WITH (fillfactor = 80);
CREATE INDEX ix_contacts_created_at ON contacts (tenant_id, created_at, id);
CREATE INDEX ix_contacts_page_id ON contacts (page_id);
CREATE INDEX ix_contacts_value ON contacts (tenant_id, value, id);

CREATE TABLE contact_evidence (
    id bigint GENERATED BY DEFAULT AS IDENTITY CONSTRAINT pk_contact_evidence PRIMARY KEY,
    contact_id uuid NOT NULL
        CONSTRAINT fk_contact_evidence_contact_id REFERENCES contacts ON DELETE CASCADE,
    page_id uuid NOT NULL
        CONSTRAINT fk_contact_evidence_page_id REFERENCES pages ON DELETE CASCADE,
    method text NOT NULL,
    raw text,
    snippet text,
    confidence float NOT NULL,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_contact_evidence_tenant_id REFERENCES tenants,
    CONSTRAINT uq_contact_evidence_contact_id_page_id_method
        UNIQUE (contact_id, page_id, method)
);
CREATE INDEX ix_contact_evidence_page_id ON contact_evidence (page_id);

CREATE TABLE leads (
    id uuid CONSTRAINT pk_leads PRIMARY KEY,
    domain_id uuid
        CONSTRAINT fk_leads_domain_id REFERENCES domains ON DELETE CASCADE CONSTRAINT uq_leads_domain_id UNIQUE,
    local_business_id uuid
        CONSTRAINT fk_leads_local_business_id REFERENCES local_businesses ON DELETE CASCADE,
    businesses integer NOT NULL DEFAULT '0',
    name text,
    name_from text,
    category text,
    address text,
    phone text,
    phone_from text,
    website text,
    best_email text,
    best_email_why text,
    other_emails text[] NOT NULL DEFAULT '{}',
    other_phones text[] NOT NULL DEFAULT '{}',
    profiles text[] NOT NULL DEFAULT '{}',
    contacts integer NOT NULL DEFAULT '0',
    rating float,
    reviews_count integer,
    why_empty text,
    why_empty_detail text,
    lead_curation_status text NOT NULL DEFAULT 'New',
    completed_at timestamptz,
    stale_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_leads_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_leads_tenant_id REFERENCES tenants,
    CONSTRAINT ck_leads_lead_curation_status
        CHECK (lead_curation_status IN ('New', 'Selected', 'Maybe', 'Not a Fit', 'Archived')),
    CONSTRAINT ck_leads_why_empty
        CHECK (why_empty IN ('not_read_yet', 'no_website', 'does_not_answer', 'parked',
            'redirected', 'only_social', 'blocked', 'robots', 'needs_javascript', 'only_a_form',
            'nothing_published'))
) WITH (fillfactor = 80);
CREATE INDEX ix_leads_created_at ON leads (tenant_id, created_at, id);
CREATE INDEX ix_leads_incomplete ON leads (id) WHERE completed_at IS NULL;
CREATE INDEX ix_leads_local_business_id ON leads (local_business_id);
CREATE INDEX ix_leads_stale ON leads (id) WHERE stale_since IS NOT NULL;
CREATE INDEX ix_leads_waiting ON leads (id) WHERE why_empty = 'not_read_yet';
-- A business without its own site has a lead of its own.
CREATE UNIQUE INDEX ix_leads_without_domain ON leads (local_business_id)
    WHERE domain_id IS NULL;

CREATE TABLE suppressions (
    id uuid CONSTRAINT pk_suppressions PRIMARY KEY,
    kind text NOT NULL,
    value text,
    -- Of an erased person only the keyed digest is stored. The key is not in the database:
    -- key_id names it.
    digest bytea NOT NULL,
    key_id text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_suppressions_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_suppressions_tenant_id REFERENCES tenants,
    CONSTRAINT ck_suppressions_kind CHECK (kind IN ('email', 'domain', 'phone')),
    CONSTRAINT uq_suppressions_tenant_id_kind_digest UNIQUE (tenant_id, kind, digest)
);
CREATE INDEX ix_suppressions_created_at ON suppressions (tenant_id, created_at, id);
CREATE INDEX ix_suppressions_erased ON suppressions (tenant_id, key_id) WHERE value IS NULL;
"""

CURATION = """
CREATE TABLE bulk_actions (
    id uuid CONSTRAINT pk_bulk_actions PRIMARY KEY,
    kind text NOT NULL,
    to_status text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}',
    updated_count bigint NOT NULL,
    queued_count bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    undone_at timestamptz,
    created_by uuid NOT NULL CONSTRAINT fk_bulk_actions_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_bulk_actions_tenant_id REFERENCES tenants
);
CREATE INDEX ix_bulk_actions_created_at ON bulk_actions (tenant_id, created_by, created_at);

CREATE TABLE bulk_action_rows (
    action_id uuid NOT NULL
        CONSTRAINT fk_bulk_action_rows_action_id REFERENCES bulk_actions ON DELETE CASCADE,
    part integer NOT NULL,
    before_status text NOT NULL,
    queue_before text,
    row_ids uuid[] NOT NULL,
    CONSTRAINT pk_bulk_action_rows PRIMARY KEY (action_id, part)
);
"""

WEBHOOKS = f"""
CREATE TABLE webhook_endpoints (
    id uuid CONSTRAINT pk_webhook_endpoints PRIMARY KEY,
    url text NOT NULL,
    secret text NOT NULL,
    events text[] NOT NULL,
    description text,
    is_active boolean NOT NULL DEFAULT 'true',
    failures integer NOT NULL DEFAULT '0',
    last_error text,
    last_delivery_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid NOT NULL CONSTRAINT fk_webhook_endpoints_created_by REFERENCES users,
    tenant_id uuid NOT NULL CONSTRAINT fk_webhook_endpoints_tenant_id REFERENCES tenants
);
CREATE INDEX ix_webhook_endpoints_created_at ON webhook_endpoints (tenant_id, created_at, id);

CREATE TABLE webhook_deliveries (
    id uuid CONSTRAINT pk_webhook_deliveries PRIMARY KEY,
    endpoint_id uuid NOT NULL
        CONSTRAINT fk_webhook_deliveries_endpoint_id REFERENCES webhook_endpoints ON DELETE CASCADE,
    host text NOT NULL DEFAULT '',
    event text NOT NULL,
    subject_id uuid,
    payload jsonb NOT NULL,
    response_status integer,
    delivered_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL CONSTRAINT fk_webhook_deliveries_tenant_id REFERENCES tenants,
    {queue("", initial="pending")},
    CONSTRAINT ck_webhook_deliveries_event
        CHECK (event IN ('lead.completed', 'contact.created', 'domain.completed',
            'sitemap.changed', 'job.finished', 'test')),
    CONSTRAINT ck_webhook_deliveries_status
        CHECK (status IN ('delivered', 'failed', 'pending', 'processing', 'skipped'))
) WITH (fillfactor = 80);
{queue_indexes("webhook_deliveries", "", "pending", "processing", "failed", order="host")}
-- Finds old rows to delete. Rows are inserted in the order of their age.
CREATE INDEX ix_webhook_deliveries_age ON webhook_deliveries USING brin (created_at);
CREATE INDEX ix_webhook_deliveries_created_at ON webhook_deliveries (tenant_id, created_at, id);
CREATE INDEX ix_webhook_deliveries_endpoint_id ON webhook_deliveries (endpoint_id, created_at);
"""

SYSTEM_ACCOUNTS = """
-- The default tenant, whose users operate the installation, and the user that schedulers act as.
INSERT INTO tenants (id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'default');
INSERT INTO users (id, tenant_id, name, role) VALUES (
    '5905e9fe-6c61-4694-b09a-6602017b000a',
    '00000000-0000-7000-8000-000000000001',
    'system',
    'admin'
);
"""

SCHEMA = (
    ACCOUNTS,
    ENGINE,
    ALERTS,
    DOMAINS_AND_JOBS,
    SITEMAPS,
    PAGES,
    PLACES,
    COSTS,
    BUSINESSES,
    CONTACTS_AND_LEADS,
    CURATION,
    WEBHOOKS,
    SYSTEM_ACCOUNTS,
)
