select version_id from goose_db_version where is_applied and version_id > 0 order by version_id
