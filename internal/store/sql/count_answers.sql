select kind, code, count(*) from inbox group by kind, code order by kind, code
