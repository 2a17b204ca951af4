select version, document from return_policy where version = any ($1::bigint[])
