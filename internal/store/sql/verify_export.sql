-- The moment that this transaction sees, for others to join.
select pg_export_snapshot()
