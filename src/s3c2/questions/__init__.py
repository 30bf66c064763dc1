"""Which pair to ask a person next: "same or different?"."""

from s3c2.questions.asking import Answered, Questions, votes
from s3c2.questions.known import VERDICTS, Known, Pair, Verdict
from s3c2.questions.stopping import Signal
from s3c2.questions.view import View

__all__ = [
    "VERDICTS", "Answered", "Known", "Pair", "Questions", "Signal", "Verdict", "View", "votes",
]  # fmt: skip
