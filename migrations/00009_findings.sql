-- +goose Up

-- What reconciliation has found: one row per fault and subject, however often it is
-- found. It is closed when a run no longer finds it.
create table finding (
    finding_id    uuid primary key,
    run_id        uuid   not null,
    fault         text   not null,
    severity      text   not null,
    subject       text collate "C" not null,
    order_id      text collate "C" not null,
    coupon_id     text collate "C" not null,
    template_id   text collate "C" not null,
    detail        text   not null,
    first_seen_at timestamptz not null,
    last_seen_at  timestamptz not null,
    closed_at     timestamptz,
    seen          bigint not null default 1,
    -- What the engine last answered about it.
    repair        text   not null default '',
    unique (fault, subject)
);

create index finding_open on finding (fault, finding_id) where closed_at is null;
create index finding_coupon on finding (coupon_id) where coupon_id <> '';
create index finding_order on finding (order_id) where order_id <> '';

create table reconcile_run (
    run_id      uuid primary key,
    actor       text   not null,
    faults      text[] not null,
    started_at  timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    coupons     bigint not null default 0,
    orders      bigint not null default 0,
    found       bigint not null default 0,
    opened      bigint not null default 0,
    closed      bigint not null default 0,
    repaired    bigint not null default 0
);

create index reconcile_run_finished on reconcile_run (finished_at) where finished_at is not null;

-- +goose Down
drop table reconcile_run;
drop table finding;
