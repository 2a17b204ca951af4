-- +goose Up

-- expect_rows aborts the transaction when a statement touched another number of
-- rows than its sender decided on: a row changed although its lock was held, so
-- somebody went around the engine.
-- +goose StatementBegin
create function expect_rows(what text, got bigint, want bigint) returns void
language plpgsql as $$
begin
    if got is distinct from want then
        raise exception '%: % rows instead of %', what, got, want using errcode = 'CL001';
    end if;
end
$$;
-- +goose StatementEnd

-- forbid_change keeps a table append-only, whoever writes.
-- +goose StatementBegin
create function forbid_change() returns trigger
language plpgsql as $$
begin
    raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'CL002';
end
$$;
-- +goose StatementEnd

-- create_partition adds one range partition, unless it is there. The table is made
-- first and attached then, because ATTACH does not stop writers of the parent and
-- CREATE ... PARTITION OF does. Rows that had to wait in the default partition move
-- over. The bounds are literals of the key's type.
-- +goose StatementBegin
create function create_partition(parent text, partition text, key text, lower text, upper text) returns boolean
language plpgsql as $$
declare
    waiting regclass;
begin
    perform pg_advisory_xact_lock(hashtextextended(current_schema() || '.' || parent, 0));
    if to_regclass(partition) is not null then
        return false;
    end if;
    execute format('create table %I (like %I including all)', partition, parent);
    select inhrelid::regclass into waiting
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = parent::regclass and pg_get_expr(relpartbound, inhrelid) = 'DEFAULT';
    if waiting is not null then
        execute format(
            'with moved as (delete from %s where %I >= %L and %I < %L returning *) insert into %I select * from moved',
            waiting, key, lower, key, upper, partition);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition, lower, upper);
    return true;
end
$$;
-- +goose StatementEnd

-- +goose Down
drop function create_partition(text, text, text, text, text);
drop function forbid_change();
drop function expect_rows(text, bigint, bigint);
