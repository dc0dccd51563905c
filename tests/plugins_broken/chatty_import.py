import sys

from windlass import register

for number in range(50_000):
    print("%09d %s" % (number, "x" * 89))
    print("%09d %s" % (number, "x" * 89), file=sys.stderr)


@register("chatty_import")
def infer(model_spec, payload, inference_params):
    return None
