"""How far a document has come: what goes into the checkpoint, and into the progress bar."""

from dataclasses import dataclass
from typing import Any, Dict, Optional

STAGES = ("download", "parse", "chunk", "embed", "index", "finalize")

# Shares of the whole, by what they cost on a document of a hundred pages.
_SHARES = {"download": 0.1, "parse": 0.3, "chunk": 0.1, "embed": 0.4, "index": 0.08, "finalize": 0.02}


@dataclass
class State:
    # What the run was asked for: a replay may come with another payload, and then nothing of this counts.
    asked: str
    done: Optional[str] = None
    document: str = ""

    @classmethod
    def resume(cls, checkpoint: Any, asked: str, index: Any) -> "State":
        """The state that the attempt before reached, as far as the index still holds what it promises."""
        if isinstance(checkpoint, dict) and checkpoint.get("asked") == asked and checkpoint.get("done") in STAGES:
            state = cls(asked, checkpoint["done"], str(checkpoint.get("document")))
            if index.holds(state.document, state.done):
                return state
        return cls(asked)

    def is_behind(self, stage: str) -> bool:
        return self.done is not None and STAGES.index(stage) <= STAGES.index(self.done)

    def as_checkpoint(self) -> Dict[str, Any]:
        return {"asked": self.asked, "done": self.done, "document": self.document}


class Progress:
    """Joins the stages' own fractions to one that never goes back."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._stage = STAGES[0]
        self._reached = 0.0

    def enter(self, stage: str) -> None:
        self._ctx.stage(stage)
        self._stage = stage
        self.within(0.0)

    def within(self, fraction: float, message: Optional[str] = None) -> None:
        """`fraction` of the present stage. Raises `Cancelled`, so that loops which call it can be stopped."""
        before = sum(_SHARES[name] for name in STAGES[: STAGES.index(self._stage)])
        whole = before + _SHARES[self._stage] * min(1.0, max(0.0, fraction))
        self._reached = max(self._reached, whole)
        self._ctx.progress(self._reached, message)
