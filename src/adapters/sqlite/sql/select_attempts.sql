-- ?1 task_id
SELECT epoch, node_id, started_at, ended_at, outcome, charged, error FROM task_attempt WHERE task_id = ?1 ORDER BY epoch
