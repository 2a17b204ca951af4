-- +goose Up

-- No release has written the tables below: they are made anew in the form that filing
-- and replaying need.
drop table dead_letter_attempt;
drop table replay_job;
drop table dead_letter;

-- One row per message that could not be applied, however often it failed. Ids are given
-- in the order of filing.
create table dead_letter (
    dead_letter_id  uuid primary key,
    message_id      text collate "C" not null,
    -- The queue whose handler gave the message up, and where it is replayed to.
    queue           text   not null,
    -- The type of the message, "" when it says none.
    kind            text   not null,
    -- NEW: somebody has to look. REPLAYED: on its way, the outcome is awaited. EDITED:
    -- another letter with a corrected body stands for it.
    status          text   not null default 'NEW'
        check (status in ('NEW', 'REPLAYED', 'EDITED', 'RESOLVED', 'DISCARDED')),
    -- How it was resolved.
    outcome         text   not null default '',
    reason          text   not null,
    error           text   not null,
    -- Letters with the same cause share a fingerprint.
    fingerprint     text collate "C" not null,
    host            text   not null,
    service_version text   not null,
    -- How often it was tried before it failed last, and how often it has failed so.
    attempts        bigint not null,
    failures        bigint not null default 0,
    first_failed_at timestamptz not null,
    last_failed_at  timestamptz not null,
    filed_at        timestamptz not null default clock_timestamp(),
    changed_at      timestamptz not null default clock_timestamp(),
    order_id        text collate "C" not null default '',
    coupons         text[] collate "C" not null default '{}',
    note            text   not null default '',
    -- The letter that this one corrects.
    edited_from_id  uuid,
    -- The job that is going to replay it or has, until its outcome is known. A letter
    -- belongs to one job at a time.
    replay_job_id   uuid,
    -- What the sender said about the message besides its body.
    exchange        text   not null,
    routing_key     text   not null,
    content_type    text   not null,
    correlation_id  text   not null,
    reply_to        text   not null,
    sent_at         timestamptz,
    headers         jsonb  not null,
    -- Bodies are kept without lease tokens, and only in part when body_size says so.
    body_hash       bytea  not null,
    body_size       bigint not null,
    body            bytea  not null,
    unique (message_id, queue, body_hash)
);

create index dead_letter_fingerprint on dead_letter (fingerprint, dead_letter_id);
create index dead_letter_status on dead_letter (status, dead_letter_id);
create index dead_letter_order on dead_letter (order_id) where order_id <> '';
create index dead_letter_coupons on dead_letter using gin (coupons);
create index dead_letter_edited on dead_letter (edited_from_id) where edited_from_id is not null;

-- Each time that a message failed. The broker may give the same failure out twice.
create table dead_letter_attempt (
    dead_letter_id  uuid   not null,
    failed_at       timestamptz not null,
    -- Tells failures of the same instant apart.
    source          text collate "C" not null,
    filed_at        timestamptz not null default clock_timestamp(),
    attempts        bigint not null,
    reason          text   not null,
    error           text   not null,
    host            text   not null,
    service_version text   not null,
    replay_job_id   uuid,
    primary key (dead_letter_id, failed_at, source)
);

-- +goose StatementBegin
-- dead_letter_matches is what all commands mean by their filter. Members that are
-- absent match everything.
create function dead_letter_matches(d dead_letter, filter jsonb) returns boolean
language sql stable as $$
    select (filter->>'type' is null or d.kind = filter->>'type')
       and (filter->>'reason' is null or d.reason = filter->>'reason')
       and (filter->>'group' is null or d.fingerprint = filter->>'group')
       and (filter->>'order' is null or d.order_id = filter->>'order')
       and (filter->>'coupon' is null or d.coupons @> array[filter->>'coupon'])
       and (filter->>'since' is null or d.last_failed_at >= (filter->>'since')::timestamptz)
       and (filter->>'until' is null or d.last_failed_at < (filter->>'until')::timestamptz)
       and (filter->>'attempts' is null or d.attempts >= (filter->>'attempts')::bigint)
       and (filter->>'text' is null or d.message_id = filter->>'text'
            or strpos(lower(d.error), lower(filter->>'text')) > 0
            or position(convert_to(filter->>'text', 'UTF8') in d.body) > 0)
       and (filter->'states' is null or filter->'states' ? d.status)
$$;
-- +goose StatementEnd

-- A replay is a persisted job over a snapshot of letters. All it knows is here: any
-- replica takes its next step, in one transaction.
create table replay_job (
    replay_job_id    uuid primary key,
    status           text   not null check (status in ('RUNNING', 'PAUSED', 'DONE', 'ABORTED')),
    -- CANARY, FAILURES or OPERATOR while PAUSED.
    paused_for       text   not null default '',
    filter           jsonb  not null,
    rate_limit       bigint not null check (rate_limit > 0),
    -- How many letters go first, before the job pauses; 0 when that is over.
    canary           bigint not null check (canary >= 0),
    -- After how many failures the job pauses, not counting those that were known when
    -- it was resumed; 0: never.
    stop_on_failures bigint not null check (stop_on_failures >= 0),
    forgiven         bigint not null default 0,
    total            bigint not null,
    sent             bigint not null default 0,
    settled          bigint not null default 0,
    failed           bigint not null default 0,
    -- Up to which moment the rate has been used.
    paid_until       timestamptz not null default clock_timestamp(),
    actor            text   not null,
    reason           text   not null,
    created_at       timestamptz not null default clock_timestamp(),
    updated_at       timestamptz not null default clock_timestamp()
);

create index replay_job_running on replay_job (replay_job_id) where status = 'RUNNING';

-- The letters of a job, in the order in which they are sent.
create table replay_item (
    replay_job_id  uuid   not null,
    position       bigint not null,
    dead_letter_id uuid   not null,
    sent_at        timestamptz,
    settled_at     timestamptz,
    outcome        text   not null default ''
        check (outcome in ('', 'APPLIED', 'DUPLICATE', 'STALE', 'FAILED_AGAIN', 'SKIPPED')),
    detail         text   not null default '',
    primary key (replay_job_id, position)
);

create index replay_item_letter on replay_item (dead_letter_id);

-- +goose Down
drop table replay_item;
drop table replay_job;
drop function dead_letter_matches(dead_letter, jsonb);
drop table dead_letter_attempt;
drop table dead_letter;

create table dead_letter (dead_letter_id uuid primary key);
create table dead_letter_attempt (dead_letter_id uuid);
create table replay_job (replay_job_id uuid primary key);
