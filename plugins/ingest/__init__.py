"""Document ingestion: download, parse, chunk, embed, index, finalize.

    windlass submit ingest --payload '{"path": "/data/handbook.pdf"}' --follow

Payload, one source: `{"path": "..."}`, `{"url": "https://..."}` or `{"text": "...", "name": "notes.md"}`.
`index`, in the payload or in the inference parameters, names the SQLite file (default `windlass-ingest.sqlite` in the
folder the node runs in). Inference parameters: `chunk_size` and `chunk_overlap` in characters, `max_bytes`.

An attempt that is killed loses the stage it was in and no more: each stage leaves its data in the index file and then
sets a checkpoint, which only says how far it got. Running a document again changes nothing: chunks and vectors stand
under (document, chunk), and a document is the sha256 of its content.
"""

import time
from typing import Any, Dict

from windlass import CredentialMode, PermanentError, context, register

from . import embedding
from .chunks import split
from .index import Index
from .options import SCHEMA, Options
from .parse import parse
from .source import fetch
from .state import Progress, State

_BATCH = 64


@register(
    "ingest",
    worker_threads=2,
    credential_mode=CredentialMode.NONE,
    metadata_version=1,
    timeout_seconds=3600,
    description="parses, chunks and embeds a document (text, Markdown, HTML, PDF) into a SQLite index",
    payload_schema=SCHEMA,
)
def infer(model_spec: Dict[str, Any], payload: Dict[str, Any], inference_params: Dict[str, Any]) -> Dict[str, Any]:
    ctx = context()
    options = Options.read(payload, inference_params)
    with Index(options.index, ctx.task_id) as index:
        state = State.resume(ctx.resumed, options.asked, index)
        try:
            return _Ingest(ctx, options, index, state).run()
        except PermanentError:
            # Nobody comes back for it.
            index.drop_work()
            raise


class _Ingest:
    """The stages in order; those that an earlier attempt finished are skipped."""

    def __init__(self, ctx: Any, options: Options, index: Index, state: State) -> None:
        self.ctx = ctx
        self.options = options
        self.index = index
        self.state = state
        self.progress = Progress(ctx)

    def run(self) -> Dict[str, Any]:
        resumed_from, seconds = self.state.done, {}
        stages = (self.download, self.parse, self.chunk, self.embed, self.publish)
        for name, stage in zip(("download", "parse", "chunk", "embed", "index"), stages):
            if self.state.is_behind(name):
                continue
            start = time.monotonic()
            self.progress.enter(name)
            stage()
            self.state.done = name
            # Last, when the data is safe: a checkpoint must never promise what is not there.
            self.ctx.checkpoint(self.state.as_checkpoint())
            seconds[name] = round(time.monotonic() - start, 3)
        return {**self.finalize(), "resumed_from": resumed_from, "seconds": seconds}

    def download(self) -> None:
        document = fetch(self.options, self.progress)
        self.state.document = document.sha256
        self.index.keep_source(document)

    def parse(self) -> None:
        document = self.index.source()
        parsed = parse(document, self.progress)
        if not parsed.characters:
            raise PermanentError("%s holds no text" % document.name, "DOCUMENT_HAS_NO_TEXT")
        self.index.keep_parsed(parsed)

    def chunk(self) -> None:
        blocks = self.index.parsed().blocks
        self.index.keep_chunks(split(blocks, self.options.chunk_size, self.options.chunk_overlap), self.progress)

    def embed(self) -> None:
        # Each batch is committed, and only what is missing is done: a kill in here costs one batch.
        total, missing = self.index.without_vector()
        for at in range(0, len(missing), _BATCH):
            batch = missing[at : at + _BATCH]
            self.index.keep_vectors((number, embedding.embed(text)) for number, text in self.index.texts(batch))
            done = total - len(missing) + at + len(batch)
            self.progress.within(done / total, "%d of %d chunks" % (done, total))

    def publish(self) -> None:
        self.index.publish(self.state.document)

    def finalize(self) -> Dict[str, Any]:
        self.progress.enter("finalize")
        published = self.index.published(self.state.document)
        self.index.drop_work()
        self.progress.within(1.0)
        return {
            "document": self.state.document,
            **published,
            "dimensions": embedding.DIMENSIONS,
            "index": self.options.index,
        }
