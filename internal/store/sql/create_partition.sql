select create_partition($1, $2, $3, $4, $5)
