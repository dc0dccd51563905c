import a_library_that_nobody_installed  # noqa: F401

from windlass import register


@register("import_error")
def infer(model_spec, payload, inference_params):
    return None
