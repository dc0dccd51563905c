-- ?1 id  ?2 a new payload, if any  ?3 whether the checkpoint goes
UPDATE task_body SET payload = coalesce(?2, payload), result = NULL, checkpoint = iif(?3, NULL, checkpoint)
WHERE id = ?1
