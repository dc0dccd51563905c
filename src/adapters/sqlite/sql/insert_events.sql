-- ?1 [[task_id, seq, epoch, kind, data], …]  ?2 now
INSERT INTO task_event (task_id, seq, epoch, kind, at, data)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ?2, value ->> 4 FROM json_each(?1)
