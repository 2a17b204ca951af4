-- +goose Up

-- What came of it, how many coupons it changed, and which ones it named: a swap is
-- about an order and several coupons.
alter table audit_log
    add column outcome text   not null default '',
    add column count   bigint not null default 0,
    add column coupons text[] collate "C" not null default '{}';

create index audit_log_coupons on audit_log using gin (coupons);
create index audit_log_actor on audit_log (actor, audit_id);

-- +goose Down
drop index audit_log_actor;
drop index audit_log_coupons;
alter table audit_log
    drop column coupons,
    drop column count,
    drop column outcome;
