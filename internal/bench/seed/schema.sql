-- The tables of the design that the benchmark compares with, as PostgreSQL has them.
create table seed_template (
    id              bigint primary key,
    template_no     text not null unique,
    total_quantity  int  not null,
    issued_quantity int  not null default 0,
    status          smallint not null default 1
) with (fillfactor = 50);

create table seed_coupon (
    id            bigint generated always as identity primary key,
    coupon_no     text not null unique,
    template_id   bigint not null,
    user_id       text not null,
    batch_no      text not null,
    status        smallint not null default 0,
    order_id      bigint,
    received_time timestamptz not null,
    used_time     timestamptz,
    expire_time   timestamptz not null,
    constraint uk_user_template unique (user_id, template_id, batch_no)
);

create index seed_coupon_user on seed_coupon (user_id, status);

create table seed_flow_log (
    id          bigint generated always as identity primary key,
    coupon_no   text not null,
    action_type smallint not null,
    order_id    bigint,
    operator    text,
    created_at  timestamptz not null default now()
);

create index seed_flow_log_coupon on seed_flow_log (coupon_no);
