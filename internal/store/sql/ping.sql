select clock_timestamp(), pg_is_in_recovery() or current_setting('transaction_read_only')::boolean
