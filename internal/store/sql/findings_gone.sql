-- What the run looked for and did not find.
with done as (
    update finding
    set closed_at = clock_timestamp()
    where closed_at is null and fault = any ($1::text[]) and run_id <> $2::uuid and last_seen_at < $3::timestamptz
    returning 1
)
select count(*) from done
