select j.replay_job_id from replay_job j where j.status = 'RUNNING' and j.sent < j.total order by j.replay_job_id limit $1
