-- A streaming read waits for whoever consumes it.
select set_config('idle_in_transaction_session_timeout', $1, true)
