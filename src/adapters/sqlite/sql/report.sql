-- ?1 [[id, last_seq, recorded, stage, progress], …], each as it was read in this transaction
UPDATE task
SET last_seq = max(last_seq, r.value ->> 1), recorded = max(recorded, r.value ->> 2),
    stage = coalesce(r.value ->> 3, stage), progress = coalesce(r.value ->> 4, progress)
FROM json_each(?1) AS r
WHERE task.id = r.value ->> 0
