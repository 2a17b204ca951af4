select drop_partition($1)
