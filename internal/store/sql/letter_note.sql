update dead_letter set note = $2, changed_at = clock_timestamp() where dead_letter_id = $1 returning note
