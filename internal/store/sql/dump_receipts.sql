select message_id, hash, at, kind, order_id, code, status, done_at from inbox order by message_id, at
