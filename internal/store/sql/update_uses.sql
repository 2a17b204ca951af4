with done as (
    update claim_counter u
    set held = n.held
    from unnest($1::text[], $2::text[], $3::bigint[]) as n (template_id, person_id, held)
    where u.template_id = n.template_id and u.person_id = n.person_id
    returning 1
)
select expect_rows('update of claim_counter', count(*), cardinality($1::text[])) from done
