-- What is known to be gone, by its id.
with done as (
    update finding
    set closed_at = clock_timestamp()
    where finding_id = any ($1::uuid[]) and closed_at is null and run_id <> $2::uuid and last_seen_at < $3::timestamptz
    returning 1
)
select count(*) from done
