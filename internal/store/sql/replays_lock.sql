select j.replay_job_id from replay_job j where j.replay_job_id = any ($1::uuid[]) order by j.replay_job_id for update
