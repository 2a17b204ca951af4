-- +goose Up

-- One row per order id that a fact has named. A row is admitted empty, so that it
-- can be locked before anything is known of the order; as long as placed is null,
-- nothing is. The low fillfactor leaves room for the rows of a page to grow to several times their
-- first size in the very transaction that admits them.
create table order_fact (
    order_id         text collate "C" primary key,
    revision         bigint,
    payable          bigint,
    placed_at        timestamptz,
    placed           boolean,
    parent_id        text collate "C",
    supersedes_id    text collate "C",
    superseded_by_id text collate "C",
    customer_id      text collate "C",
    currency         text,
    children         text[],
    reviews          text[],
    payments         jsonb,
    closes           jsonb
) with (fillfactor = 10);

-- Which coupons an order named, and how far it got with each.
create table order_coupon (
    order_id       text collate "C" not null,
    coupon_id      text collate "C" not null,
    discount       bigint not null,
    policy_version bigint not null,
    lease_id       uuid,
    redemption_id  uuid,
    dropped        boolean not null,
    refusal        text   not null,
    quote_id       text collate "C" not null,
    reviews        text[] not null,
    primary key (order_id, coupon_id)
) with (fillfactor = 45);

create index order_coupon_coupon on order_coupon (coupon_id);

-- position keeps the order in which the refunds of an order came.
create table refund_fact (
    position    bigint generated always as identity,
    order_id    text collate "C" not null,
    refund_id   text collate "C" not null,
    amount      bigint not null,
    refunded_at timestamptz not null,
    reason      text   not null,
    cause_id    text collate "C" not null,
    primary key (order_id, refund_id)
);

-- What a refund did to one coupon, and on which figures that was decided. position keeps
-- the order of the decisions.
create table refund_coupon (
    position       bigint generated always as identity,
    order_id       text collate "C" not null,
    refund_id      text collate "C" not null,
    coupon_id      text collate "C" not null,
    policy_version bigint not null,
    payable        bigint not null,
    paid           bigint not null,
    refunded       bigint not null,
    decided_at     timestamptz not null,
    redemption_id  uuid   not null,
    operation_id   uuid,
    decision       text   not null,
    primary key (order_id, refund_id, coupon_id)
);

create index refund_coupon_coupon on refund_coupon (coupon_id);

-- One case per order, coupon and reason; coupon_id '' is the order as a whole.
create table review_case (
    review_id   uuid primary key,
    opened_at   timestamptz not null,
    resolved_at timestamptz,
    order_id    text collate "C" not null,
    coupon_id   text collate "C" not null,
    reason      text not null,
    suggestion  text not null,
    cause_id    text collate "C" not null,
    resolution  text not null default '',
    resolved_by text not null default '',
    note        text not null default '',
    unique (order_id, coupon_id, reason)
);

create index review_case_coupon on review_case (coupon_id) where coupon_id <> '';
create index review_case_open on review_case (opened_at, review_id) where resolved_at is null;

-- +goose Down
drop table review_case;
drop table refund_coupon;
drop table refund_fact;
drop table order_coupon;
drop table order_fact;
