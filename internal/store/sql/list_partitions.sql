select parent.relname::text, child.relname::text
from pg_inherits i
join pg_class parent on parent.oid = i.inhparent
join pg_class child on child.oid = i.inhrelid
where parent.relname = any ($1::text[]) and parent.relkind = 'p' and parent.relnamespace = current_schema()::regnamespace
order by parent.relname, child.relname
