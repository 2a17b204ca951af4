-- The plans of statements that read much of a table are made from what is known of it,
-- with room to sort, and take their time. Whoever asks says how many work at once.
select set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('enable_seqscan', 'on', true),
       set_config('max_parallel_workers_per_gather', '0', true),
       set_config('work_mem', '64MB', true),
       set_config('statement_timeout', $1, true)
