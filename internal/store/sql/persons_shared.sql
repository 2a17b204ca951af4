-- Whoever acts for a person holds this lock, so that nobody becomes somebody else meanwhile. It comes before all others but
-- that of the counting.
select pg_advisory_xact_lock_shared(hashtextextended(current_schema() || '.person_alias', 0))
