-- +goose Up

-- Tables that are append-only let one thing through: the erasure of a person, which names the table in a setting of its
-- transaction, and even then only texts may change that could name somebody.
-- +goose StatementBegin
create or replace function forbid_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'UPDATE' and current_setting('couponlease.erasing', true) = tg_table_name then
        return null;
    end if;
    raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'CL002';
end
$$;
-- +goose StatementEnd

-- only_texts_change holds an erasure to the columns that are its arguments.
-- +goose StatementBegin
create function only_texts_change() returns trigger
language plpgsql as $$
begin
    if to_jsonb(old) - tg_argv is distinct from to_jsonb(new) - tg_argv then
        raise exception '% is append-only: an erasure may change % alone', tg_table_name, array_to_string(tg_argv, ', ')
            using errcode = 'CL002';
    end if;
    return new;
end
$$;
-- +goose StatementEnd

create trigger only_texts before update on coupon_operation
    for each row when (current_setting('couponlease.erasing', true) = 'coupon_operation')
    execute function only_texts_change('actor', 'reason');
create trigger only_texts before update on coupon_template_version
    for each row when (current_setting('couponlease.erasing', true) = 'coupon_template_version')
    execute function only_texts_change('actor');
create trigger only_texts before update on coupon_command
    for each row when (current_setting('couponlease.erasing', true) = 'coupon_command')
    execute function only_texts_change('actor');
create trigger only_texts before update on redeem_flow
    for each row when (current_setting('couponlease.erasing', true) = 'redeem_flow')
    execute function only_texts_change('reason');
create trigger only_texts before update on audit_log
    for each row when (current_setting('couponlease.erasing', true) = 'audit_log')
    execute function only_texts_change('actor', 'subject', 'reason', 'detail');

-- texts_naming gives the contents of a column that hold any of the names, in lower case, wherever that is: whoever asks
-- looks closer. The name '' is in all of them. Bytes are searched in their escaped form.
-- +goose StatementBegin
create function texts_naming(place text, part text, names text[]) returns table (place_row text, content bytea)
language plpgsql stable as $$
declare
    written text := format('%I::text', part);
    bytes   text := format('convert_to(%s, ''UTF8'')', written);
begin
    if exists (
        select from pg_attribute
        where attrelid = place::regclass and attname = part and atttypid = 'bytea'::regtype
    ) then
        written := format('encode(%I, ''escape'')', part);
        bytes := format('%I', part);
    end if;
    return query execute format(
        'select ctid::text, %s from %I
         where exists (select from unnest($1) as name where strpos(lower(%s), name) > 0)', bytes, place, written)
    using names;
end
$$;
-- +goose StatementEnd

-- erase_text replaces a content that texts_naming gave, and says whether it was still there.
-- +goose StatementBegin
create function erase_text(place text, part text, place_row text, was bytea, becomes bytea) returns boolean
language plpgsql as $$
declare
    kind    text;
    changed bigint;
begin
    select format_type(atttypid, null) into kind from pg_attribute where attrelid = place::regclass and attname = part;
    perform set_config('couponlease.erasing', place, true);
    execute format(
        'update %1$I set %2$I = convert_from($1, ''UTF8'')::%3$s
         where ctid = $2::tid and %2$I::text = convert_from($3, ''UTF8'')', place, part, kind)
    using becomes, place_row, was;
    get diagnostics changed = row_count;
    perform set_config('couponlease.erasing', '', true);
    return changed = 1;
end
$$;
-- +goose StatementEnd

-- +goose Down
drop function erase_text(text, text, text, bytea, bytea);
drop function texts_naming(text, text, text[]);
drop trigger only_texts on audit_log;
drop trigger only_texts on redeem_flow;
drop trigger only_texts on coupon_command;
drop trigger only_texts on coupon_template_version;
drop trigger only_texts on coupon_operation;
drop function only_texts_change();
-- +goose StatementBegin
create or replace function forbid_change() returns trigger
language plpgsql as $$
begin
    raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'CL002';
end
$$;
-- +goose StatementEnd
