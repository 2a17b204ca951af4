-- +goose Up

-- One row per message, written once, with its outcome. The partition is the UTC day
-- of the message's own time, which never changes, so that a redelivery looks in the
-- same partition whenever it comes.
create table inbox (
    day        date   not null,
    at         timestamptz not null,
    done_at    timestamptz not null,
    message_id text collate "C" not null,
    hash       bytea  not null,
    kind       text   not null,
    order_id   text collate "C" not null,
    code       text   not null,
    status     text   not null,
    primary key (message_id, day)
) partition by range (day);

create index inbox_order on inbox (order_id);

-- Encoded groups of messages to publish. A row is written in the transaction that
-- caused it and deleted once the broker has confirmed it.
create table coupon_outbox (
    id            bigint generated always as identity,
    shard         int    not null,
    messages      int    not null check (messages > 0),
    parks         int    not null default 0,
    created_at    timestamptz not null,
    parked_at     timestamptz,
    parked_reason text,
    payload       text   not null,
    primary key (shard, id)
);

create index coupon_outbox_pending on coupon_outbox (shard, id) where parked_at is null;
create index coupon_outbox_parked on coupon_outbox (shard, parked_at, id) where parked_at is not null;

-- Payloads live for milliseconds: only a compression that costs next to nothing is
-- worth its while, and a server may be built without it.
-- +goose StatementBegin
do $$
begin
    alter table coupon_outbox alter column payload set compression lz4;
exception when feature_not_supported then
    alter table coupon_outbox alter column payload set storage external;
end
$$;
-- +goose StatementEnd

create table outbox_lease (
    shard      int primary key,
    owner      text   not null,
    fence      bigint not null,
    expires_at timestamptz not null
) with (fillfactor = 50);

-- When which lease may be released. Timers that are due soon, nearly all of them,
-- fall into daily partitions, dropped when their day is over. The few that are due
-- late are deleted one by one.
create table lease_timer (
    due_at    timestamptz not null,
    version   bigint  not null,
    lease_id  uuid    not null,
    far       boolean not null,
    coupon_id text collate "C" not null,
    primary key (due_at, lease_id, version, far)
) partition by list (far);

create table lease_timer_far partition of lease_timer for values in (true);
create table lease_timer_near partition of lease_timer for values in (false) partition by range (due_at);
create table lease_timer_near_default partition of lease_timer_near default;

-- timers_held says whether a daily partition has the timer of a lease that is still
-- held: then the sweeper needs it.
-- +goose StatementBegin
create function timers_held(partition text) returns boolean
language plpgsql as $$
declare
    held boolean;
begin
    execute format(
        'select exists (
             select from %I t
             join user_coupon c on c.coupon_id = t.coupon_id and c.state = ''LOCKED''
                 and c.lease_id = t.lease_id and c.lease_version = t.version)', partition)
    into held;
    return held;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function drop_partition(partition text) returns void
language plpgsql as $$
begin
    execute format('drop table if exists %I', partition);
end
$$;
-- +goose StatementEnd

-- The first partitions; the daemon keeps adding and dropping.
-- +goose StatementBegin
do $$
declare
    today date := (clock_timestamp() at time zone 'UTC')::date;
    day   date;
begin
    for offset_days in -14 .. 2 loop
        day := today + offset_days;
        perform create_partition('inbox', 'inbox_' || to_char(day, 'YYYYMMDD'), 'day', day::text, (day + 1)::text);
    end loop;
    for offset_days in -1 .. 9 loop
        day := today + offset_days;
        perform create_partition('lease_timer_near', 'lease_timer_near_' || to_char(day, 'YYYYMMDD'), 'due_at',
            day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
drop function drop_partition(text);
drop function timers_held(text);
drop table lease_timer;
drop table outbox_lease;
drop table coupon_outbox;
drop table inbox;
