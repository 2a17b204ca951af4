with done as (
    insert into return_policy (version, document)
    select n.version, n.document::jsonb
    from unnest($1::bigint[], $2::text[]) with ordinality as n (version, document, position)
    order by n.position
    on conflict do nothing
    returning 1
)
select expect_rows('insert into return_policy', count(*), cardinality($1::bigint[]), 'CL002') from done
