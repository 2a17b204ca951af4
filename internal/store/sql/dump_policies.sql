select version, document from return_policy order by version
