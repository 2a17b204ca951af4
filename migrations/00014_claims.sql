-- +goose Up

-- What a campaign is worth and how much of it there is. -1 is no limit. issued counts what
-- claims and batches made and never exceeds total, imported all other coupons.
alter table coupon_template
    add column name          text   not null default '',
    add column discount      jsonb  not null default '{}',
    add column total         bigint not null default -1 check (total >= -1),
    add column per_person    bigint not null default -1 check (per_person >= -1),
    add column per_day       bigint not null default -1 check (per_day >= -1),
    add column valid_from    timestamptz,
    add column imported      bigint not null default 0 check (imported >= 0),
    add column generation    bigint not null default 1,
    add column told_sold_out bigint not null default 0,
    add column held_most     bigint not null default 0,
    add column uses_most     bigint not null default -1,
    add constraint never_more_than_total check (total = -1 or issued <= total);

update coupon_template set imported = issued, issued = 0, uses_most = uses_per_person;

-- What a template said, version by version.
create table coupon_template_version (
    template_id text collate "C" not null,
    version     bigint not null,
    at          timestamptz not null,
    terms       jsonb  not null,
    actor       text   not null,
    cause_id    text collate "C" not null,
    primary key (template_id, version)
);

insert into coupon_template_version (template_id, version, at, terms, actor, cause_id)
select template_id, version, clock_timestamp(), jsonb_strip_nulls(jsonb_build_object(
           'name', name, 'discount', discount, 'status', status, 'total', total, 'perPerson', per_person,
           'perDay', per_day, 'budget', budget, 'usesPerPerson', uses_per_person, 'policyVersion', policy_version,
           'validUntil', valid_until, 'validDays', valid_days, 'zone', zone, 'transferable', transferable)), '', ''
from coupon_template;

create trigger append_only before update or delete or truncate on coupon_template_version
    for each statement execute function forbid_change();

-- The column defaults are for the coupons that there are, and for programs of the version before.
alter table user_coupon
    add column origin           text not null default 'IMPORT' check (origin in ('IMPORT', 'CLAIM', 'BATCH')),
    add column claim_no         bigint check (claim_no >= 1),
    add column template_version bigint not null default 1;

-- The last word on claims: one coupon for each owner, batch and number. Claims without a batch are
-- numbered by the owner's counter; of a batch an owner has number 1 alone.
create unique index user_coupon_claim on user_coupon (template_id, owner_id, batch_id, claim_no)
    where claim_no is not null;

-- How many coupons a person has claimed, in all and on the latest day with a claim.
alter table claim_counter
    add column claimed        bigint not null default 0 check (claimed >= 0),
    add column claim_day      text   not null default '',
    add column claimed_on_day bigint not null default 0 check (claimed_on_day >= 0);

-- One person may be known by several ids.
create table person_alias (
    alias      text collate "C" primary key,
    person_id  text collate "C" not null,
    created_at timestamptz not null default clock_timestamp(),
    actor      text   not null
);

create index person_alias_person on person_alias (person_id);

-- +goose Down
drop table person_alias;
alter table claim_counter drop column claimed, drop column claim_day, drop column claimed_on_day;
drop index user_coupon_claim;
alter table user_coupon drop column origin, drop column claim_no, drop column template_version;
drop table coupon_template_version;
alter table coupon_template drop constraint never_more_than_total; -- what was imported counts from now on
update coupon_template set issued = issued + imported;
alter table coupon_template
    drop column name, drop column discount, drop column total, drop column per_person, drop column per_day,
    drop column valid_from, drop column imported, drop column generation, drop column told_sold_out,
    drop column held_most, drop column uses_most;
