-- ?1 task_id: the outputs of the latest epoch that has any
SELECT data FROM task_event
WHERE task_id = ?1 AND kind = 'output'
  AND epoch = (SELECT max(epoch) FROM task_event WHERE task_id = ?1 AND kind = 'output')
ORDER BY seq
