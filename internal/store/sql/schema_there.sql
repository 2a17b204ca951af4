select to_regclass('goose_db_version') is not null
