-- +goose Up

-- What each command was answered, by its idempotency key: the evidence of a refusal,
-- and what a repeated command is told again. Kept as long as the coupons are.
create table coupon_command (
    idempotency_key text collate "C" primary key,
    version         bigint not null,
    occurred_at     timestamptz not null,
    done_at         timestamptz not null,
    deadline        timestamptz,
    lease_id        uuid,
    operation_id    uuid,
    request_hash    bytea  not null,
    kind            text   not null,
    coupon_id       text collate "C" not null,
    order_id        text collate "C" not null,
    status          text   not null,
    code            text   not null,
    state           text   not null,
    cause_id        text collate "C" not null,
    actor           text   not null,
    -- Of the lease whose token the answer gives to the asker; of the token itself
    -- nothing is kept.
    token_hash      bytea,
    -- Why the coupons of a swap could not be had or given up.
    refusals        jsonb
);

-- A command is found by its coupon, and one about several coupons by its order.
create index coupon_command_coupon on coupon_command (coupon_id) where coupon_id <> '';
create index coupon_command_order on coupon_command (order_id) where coupon_id = '';

create trigger append_only before update or delete or truncate on coupon_command
    for each statement execute function forbid_change();

-- Every step of a redemption at a till. A flow begins once and ends once: stage 0 is
-- PROCESSING, stage 1 is how it ended. The redeem number is made of the request's id,
-- so that a flow is found by either.
create table redeem_flow (
    redeem_no    text collate "C" not null,
    stage        int    not null,
    at           timestamptz not null,
    lease_id     uuid,
    operation_id uuid,
    request_id   text collate "C" not null,
    step         text   not null,
    coupon_id    text collate "C" not null,
    code         text   not null,
    reason       text   not null,
    payment_id   text collate "C" not null,
    cause_id     text collate "C" not null,
    primary key (redeem_no, stage),
    constraint begins_and_ends_once check (
        stage = 0 and step = 'PROCESSING' or stage = 1 and step in ('SUCCESS', 'REJECTED', 'RELEASED')),
    constraint named_by_its_request check (redeem_no = 'RD' || request_id)
);

create index redeem_flow_coupon on redeem_flow (coupon_id);

create trigger append_only before update or delete or truncate on redeem_flow
    for each statement execute function forbid_change();

-- +goose Down
drop table redeem_flow;
drop table coupon_command;
