from windlass import register


@register("bad_mode", credential_mode="nobody")
def infer(model_spec, payload, inference_params):
    return None
