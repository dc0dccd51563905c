def infer(model_spec, payload, inference_params:
    return None
