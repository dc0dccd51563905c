from windlass import register


@register("bad_arguments")
def infer(payload):
    return None
