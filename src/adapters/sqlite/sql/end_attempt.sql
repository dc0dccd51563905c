-- ?1 task_id  ?2 epoch  ?3 now  ?4 outcome  ?5 charged  ?6 error  ?7 finish_token
UPDATE task_attempt SET ended_at = ?3, outcome = ?4, charged = ?5, error = ?6, finish_token = ?7
WHERE task_id = ?1 AND epoch = ?2 AND ended_at IS NULL
