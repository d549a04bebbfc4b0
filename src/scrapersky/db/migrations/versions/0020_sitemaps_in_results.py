"""Results of sitemap jobs list their sitemaps: `sitemaps` was their number, now `sitemaps_count`.

Only finished jobs are changed, which nobody else writes to, so running workers do not wait.
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
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
        """
    )


def downgrade() -> None:
    op.execute(
        """
        UPDATE jobs SET result_data = (result_data - 'sitemaps_count')
            || jsonb_build_object('sitemaps', result_data -> 'sitemaps_count')
        WHERE job_type = 'sitemap' AND finished_at IS NOT NULL
            AND jsonb_typeof(result_data -> 'sitemaps_count') = 'number'
        """
    )
