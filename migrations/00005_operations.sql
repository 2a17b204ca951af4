-- +goose Up

-- Messages that could not be applied, as they came. A letter is filed once, however
-- often the broker gives it out.
create table dead_letter (
    dead_letter_id  uuid primary key,
    message_id      text collate "C" not null,
    queue           text   not null,
    kind            text   not null,
    -- NEW, REPLAYED, RESOLVED or DISCARDED.
    status          text   not null default 'NEW'
        check (status in ('NEW', 'REPLAYED', 'RESOLVED', 'DISCARDED')),
    reason          text   not null,
    error           text   not null,
    -- Letters with the same cause share a fingerprint.
    fingerprint     text collate "C" not null,
    handler         text   not null,
    host            text   not null,
    service_version text   not null,
    attempts        bigint not null,
    first_failed_at timestamptz not null,
    last_failed_at  timestamptz not null,
    filed_at        timestamptz not null default clock_timestamp(),
    order_id        text collate "C" not null default '',
    coupon_id       text collate "C" not null default '',
    -- The letter this one was edited from.
    edited_from_id  uuid,
    headers         jsonb  not null,
    body_hash       bytea  not null,
    body            bytea  not null,
    unique (message_id, body_hash, queue)
);

create index dead_letter_fingerprint on dead_letter (fingerprint, filed_at);
create index dead_letter_filed on dead_letter (status, filed_at, dead_letter_id);

-- A replay is a persisted job over a snapshot of letters.
create table replay_job (
    replay_job_id uuid primary key,
    status        text   not null
        check (status in ('PLANNED', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED')),
    filter        jsonb  not null,
    rate_limit    bigint not null check (rate_limit > 0),
    canary        bigint not null default 0 check (canary >= 0),
    total         bigint not null,
    done          bigint not null default 0,
    failed        bigint not null default 0,
    actor         text   not null,
    reason        text   not null,
    created_at    timestamptz not null default clock_timestamp(),
    updated_at    timestamptz not null default clock_timestamp()
);

-- One row per letter of a job: what was predicted, and what came of it.
create table dead_letter_attempt (
    replay_job_id  uuid   not null,
    position       bigint not null,
    dead_letter_id uuid   not null,
    predicted      text   not null default '',
    outcome        text   not null default '',
    error          text   not null default '',
    attempted_at   timestamptz,
    primary key (replay_job_id, position)
);

create index dead_letter_attempt_letter on dead_letter_attempt (dead_letter_id);

-- Who did what by hand, and why.
create table audit_log (
    audit_id bigint generated always as identity primary key,
    at       timestamptz not null default clock_timestamp(),
    actor    text  not null,
    action   text  not null,
    subject  text collate "C" not null,
    reason   text  not null,
    detail   jsonb not null default '{}'
);

create index audit_log_subject on audit_log (subject, at);

create trigger append_only before update or delete or truncate on audit_log
    for each statement execute function forbid_change();

-- +goose Down
drop table audit_log;
drop table dead_letter_attempt;
drop table replay_job;
drop table dead_letter;
