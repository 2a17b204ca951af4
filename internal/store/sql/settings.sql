-- The plans of a writing transaction have to stay good while tables grow from empty
-- to millions of rows between two ANALYZE: index lookups, row by row, whatever the
-- statistics say.
select clock_timestamp(),
       set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true)
