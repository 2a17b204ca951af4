-- The plans of a verification are made for each range from what is known of the tables,
-- with room to sort one, and a statement takes as long as its range.
select set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('enable_seqscan', 'on', true),
       set_config('work_mem', '64MB', true),
       set_config('statement_timeout', $1, true)
