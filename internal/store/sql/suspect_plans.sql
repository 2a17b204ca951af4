-- Large sets are joined whole: row by row would take a million times as long.
select set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true)
