-- ?1 [{task, epoch}, …]  ?2 incarnation  ?3 lease_until
UPDATE task SET lease_until = ?3
FROM json_each(?1) AS held
WHERE task.id = held.value ->> 'task' AND task.epoch = held.value ->> 'epoch'
  AND task.status = 'running' AND task.incarnation = ?2
RETURNING id, epoch, cancel_requested_at IS NOT NULL
