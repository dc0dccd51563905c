-- ?1 task_id  ?2 after  ?3 limit
SELECT seq, epoch, kind, at, data FROM task_event WHERE task_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3
