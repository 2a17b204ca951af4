update outbox_lease set owner = '', expires_at = '-infinity' where shard = $1 and fence = $2
