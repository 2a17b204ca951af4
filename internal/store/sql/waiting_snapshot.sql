-- How long the oldest transaction in this database has kept dead rows from being cleaned
-- up, in seconds: one that reads as of a moment, or has written and not ended.
select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::double precision
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
  and (backend_xmin is not null or backend_xid is not null)
