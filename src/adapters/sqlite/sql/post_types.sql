-- ?1 [[task_type, metadata_version, metadata], …]; the highest version stays, of equal ones the last
INSERT INTO task_type (task_type, metadata_version, metadata)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1) WHERE true
ON CONFLICT (task_type) DO UPDATE
SET metadata_version = excluded.metadata_version, metadata = excluded.metadata
WHERE excluded.metadata_version >= metadata_version AND excluded.metadata <> metadata
