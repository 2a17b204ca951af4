-- What an installation stands on: versions, the clock, and the settings without which a
-- commit that was told may be lost.
select current_setting('server_version'), current_setting('server_version_num')::bigint, clock_timestamp(),
       pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
       current_setting('synchronous_commit'),
       coalesce((select max(extract(epoch from clock_timestamp() - xact_start))::bigint from pg_stat_activity
                 where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
                   and (backend_xmin is not null or backend_xid is not null)), 0)
