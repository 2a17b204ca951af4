-- Sorted by key, because this insert may wait for another transaction that is
-- answering the same command.
insert into coupon_command (
    idempotency_key, version, occurred_at, done_at, deadline, lease_id, operation_id, request_hash, kind, coupon_id,
    order_id, status, code, state, cause_id, actor, token_hash, refusals
)
select n.idempotency_key, n.version, n.occurred_at, n.done_at, n.deadline, n.lease_id, n.operation_id, n.request_hash,
       n.kind, n.coupon_id, n.order_id, n.status, n.code, n.state, n.cause_id, n.actor, n.token_hash, n.refusals::jsonb
from (
    select unnest($1::text[]) as idempotency_key, unnest($2::bigint[]) as version,
        unnest($3::timestamptz[]) as occurred_at, unnest($4::timestamptz[]) as done_at,
        unnest($5::timestamptz[]) as deadline, unnest($6::uuid[]) as lease_id, unnest($7::uuid[]) as operation_id,
        unnest($8::bytea[]) as request_hash, unnest($9::text[]) as kind, unnest($10::text[]) as coupon_id,
        unnest($11::text[]) as order_id, unnest($12::text[]) as status, unnest($13::text[]) as code,
        unnest($14::text[]) as state, unnest($15::text[]) as cause_id, unnest($16::text[]) as actor,
        unnest($17::bytea[]) as token_hash, unnest($18::text[]) as refusals,
        generate_subscripts($1::text[], 1) as position
) as n
order by n.position
