insert into return_policy (version, document)
select n.version, n.document::jsonb
from unnest($1::bigint[], $2::text[]) with ordinality as n (version, document, position)
order by n.position
