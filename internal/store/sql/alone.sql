-- Until the end of the transaction nobody else in this schema works on the campaign.
select pg_advisory_xact_lock(hashtextextended(current_schema() || '.campaign.' || $1::text, 0))
