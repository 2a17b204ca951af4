-- A case is decided once. Its order is locked, so a case that is decided already means
-- that somebody wrote around the engine.
with done as (
    update review_case r
    set resolved_at = n.resolved_at, resolution = n.resolution, resolved_by = n.resolved_by, note = n.note
    from (
        select unnest($1::uuid[]) as review_id, unnest($2::timestamptz[]) as resolved_at,
            unnest($3::text[]) as resolution, unnest($4::text[]) as resolved_by, unnest($5::text[]) as note
    ) as n
    where r.review_id = n.review_id and r.resolved_at is null
    returning 1
)
select expect_rows('resolution of review_case', count(*), cardinality($1::uuid[])) from done
