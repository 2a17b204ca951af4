-- What somebody else has corrected is seen by who counts next. Who changes who is who holds this lock as well, because that
-- moves counters. It comes before all others.
select pg_advisory_xact_lock(hashtextextended(current_schema() || '.recount', 0))
