from windlass import register


@register("fine_before_the_bad_one")
def fine(model_spec, payload, inference_params):
    return None


@register("Bad Name")
def infer(model_spec, payload, inference_params):
    return None
