with done as (
    update claim_counter u
    set held = n.held
    from (
        select unnest($1::text[]) as template_id, unnest($2::text[]) as person_id, unnest($3::bigint[]) as held
    ) as n
    where u.template_id = n.template_id and u.person_id = n.person_id
    returning 1
)
select expect_rows('update of claim_counter', count(*), cardinality($1::text[])) from done
