-- ?1 incarnation  ?2 task_type, if only one  ?3 claimed by then  ?4 [{task, epoch}, …] excepted
SELECT id FROM task
WHERE status = 'running' AND incarnation = ?1 AND (?2 IS NULL OR task_type = ?2) AND started_at <= ?3
  AND (id, epoch) NOT IN (SELECT value ->> 'task', value ->> 'epoch' FROM json_each(?4))
