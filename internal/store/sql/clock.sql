-- Taken once all locks are held, so that the times of one coupon never run backwards.
select clock_timestamp()
