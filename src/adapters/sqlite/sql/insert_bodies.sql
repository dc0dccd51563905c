-- ?1 [[id, payload, model_spec, inference_params, metadata], …]
INSERT INTO task_body (id, payload, model_spec, inference_params, metadata)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1)
