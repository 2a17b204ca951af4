-- +goose Up

-- Ids that come from outside are text with collation "C": they compare by byte,
-- here as in the engine. Our own are UUIDv7. A null time is no time.

create table coupon_template (
    template_id     text collate "C" primary key,
    version         bigint not null,
    status          text   not null check (status in ('ACTIVE', 'PAUSED', 'OFFLINE')),
    -- -1 is no limit.
    budget          bigint not null check (budget >= -1),
    uses_per_person bigint not null check (uses_per_person >= -1),
    held            bigint not null check (held >= 0),
    issued          bigint not null check (issued >= 0),
    policy_version  bigint not null,
    valid_until     timestamptz,
    valid_days      bigint not null check (valid_days >= 0),
    zone            text   not null,
    transferable    boolean not null
) with (fillfactor = 50);

-- The current lease and the active redemption live on the coupon, so that ownership
-- is one row. Every index is on columns that never change, and a row may grow to twice
-- its first size within its page: an update stays HOT.
create table user_coupon (
    coupon_id                 text collate "C" primary key,
    code                      text collate "C" not null,
    template_id               text collate "C" not null,
    owner_id                  text collate "C" not null,
    batch_id                  text collate "C" not null,
    state                     text   not null
        check (state in ('AVAILABLE', 'LOCKED', 'USED', 'REFUNDED', 'EXPIRED', 'VOID')),
    version                   bigint not null check (version >= 1),
    valid_from                timestamptz,
    valid_until               timestamptz,
    -- valid_until as it was at the issue. A validity is only ever extended, so every
    -- coupon that lapsed has an issued_until in the past.
    issued_until              timestamptz,
    policy_version            bigint not null,
    leases                    bigint not null check (leases >= 0),
    cycle                     bigint not null check (cycle >= 0),
    lease_id                  uuid,
    lease_generation          bigint,
    lease_order_id            text collate "C",
    lease_token_hash          bytea,
    lease_purpose             text,
    lease_deadline            timestamptz,
    lease_acquired_version    bigint,
    lease_version             bigint,
    redemption_id             uuid,
    redemption_cycle          bigint,
    redemption_order_id       text collate "C",
    redemption_payment_id     text collate "C",
    redemption_lease_id       uuid,
    redemption_operation_id   uuid,
    redemption_policy_version bigint,
    voided_from               text   not null,
    constraint locked_means_leased check ((state = 'LOCKED') = (lease_id is not null)),
    constraint used_means_redeemed check ((state = 'USED') = (redemption_id is not null))
) with (fillfactor = 50);

create index user_coupon_owner on user_coupon (owner_id) where owner_id <> '';
create index user_coupon_issued_until on user_coupon (issued_until, coupon_id) where issued_until is not null;

-- The ledger: one row per change, never touched again.
create table coupon_operation (
    coupon_id      text collate "C" not null,
    to_version     bigint not null,
    from_version   bigint not null,
    policy_version bigint not null,
    valid_until    timestamptz,
    at             timestamptz not null,
    operation_id   uuid   not null,
    lease_id       uuid,
    redemption_id  uuid,
    original_id    uuid,
    operation      text   not null,
    from_state     text   not null,
    to_state       text   not null,
    reason         text   not null,
    order_id       text collate "C" not null,
    payment_id     text collate "C" not null,
    refund_id      text collate "C" not null,
    cause_id       text collate "C" not null,
    actor          text   not null,
    business_key   text collate "C",
    request_hash   bytea,
    primary key (coupon_id, to_version),
    constraint one_version_at_a_time check (to_version = from_version + 1)
);

create unique index coupon_operation_business_key on coupon_operation (coupon_id, business_key)
    where business_key is not null;

create trigger append_only before update or delete or truncate on coupon_operation
    for each statement execute function forbid_change();

-- Evidence of each lease granted or renewed.
create table coupon_lock (
    coupon_id        text collate "C" not null,
    version          bigint not null,
    generation       bigint not null,
    acquired_version bigint not null,
    deadline         timestamptz,
    granted_at       timestamptz not null,
    lease_id         uuid   not null,
    operation_id     uuid   not null,
    order_id         text collate "C" not null,
    token_hash       bytea  not null,
    purpose          text   not null,
    renewal          boolean not null,
    primary key (coupon_id, version)
);

-- Evidence of each redemption.
create table coupon_redemption (
    coupon_id      text collate "C" not null,
    cycle          bigint not null,
    policy_version bigint not null,
    redeemed_at    timestamptz not null,
    redemption_id  uuid   not null,
    lease_id       uuid   not null,
    operation_id   uuid   not null,
    order_id       text collate "C" not null,
    payment_id     text collate "C" not null,
    primary key (coupon_id, cycle)
);

-- What each person holds of each template that limits it.
create table claim_counter (
    template_id text collate "C" not null,
    person_id   text collate "C" not null,
    held        bigint not null check (held >= 0),
    primary key (template_id, person_id)
) with (fillfactor = 75);

create table return_policy (
    version    bigint primary key,
    document   jsonb  not null,
    created_at timestamptz not null default clock_timestamp()
);

create trigger append_only before update or delete or truncate on return_policy
    for each statement execute function forbid_change();

insert into return_policy (version, document)
values (1, '{"version": 1, "full": "RETURN", "partial": "KEEP", "chargeback": "KEEP", "extendDays": 0, "budgetBack": false}');

-- +goose Down
drop table return_policy;
drop table claim_counter;
drop table coupon_redemption;
drop table coupon_lock;
drop table coupon_operation;
drop table user_coupon;
drop table coupon_template;
