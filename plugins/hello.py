"""The smallest plugin: say what you do, tell where you are, return a result.

    windlass submit hello --payload '{"name": "Ada"}' --wait
"""

from windlass import CredentialMode, context, register


@register(
    "hello",
    worker_threads=1,
    credential_mode=CredentialMode.NONE,
    metadata_version=1,
    timeout_seconds=60,
    description="echo",
    payload_schema={"type": "object"},
)
def infer(model_spec, payload, inference_params):
    ctx = context()
    ctx.stage("greet")
    ctx.progress(0.5)
    return {"message": "Hello world", "echo": payload}
