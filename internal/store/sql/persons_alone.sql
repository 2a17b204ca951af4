-- Whoever changes who is who waits for all that act for persons, and keeps others waiting.
select pg_advisory_xact_lock(hashtextextended(current_schema() || '.person_alias', 0))
