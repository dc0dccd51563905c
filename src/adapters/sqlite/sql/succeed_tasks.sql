-- ?1 [[id, epoch, last_seq, stage, progress, result, token], …]  ?2 now
UPDATE task
SET status = 'succeeded', uncharged = 0, losses = 0, suspect = 0, error = NULL, finished_at = ?2, node_id = NULL,
    incarnation = NULL, claim_token = NULL, lease_until = NULL, last_seq = s.value ->> 2,
    stage = coalesce(s.value ->> 3, stage), progress = coalesce(s.value ->> 4, progress)
FROM json_each(?1) AS s
WHERE task.id = s.value ->> 0 AND task.epoch = s.value ->> 1 AND task.status = 'running'
