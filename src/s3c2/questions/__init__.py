"""Which pair to ask a person next: "same or different?"."""

from s3c2.questions.asking import Answered, Questions
from s3c2.questions.known import Known, Pair, Verdict
from s3c2.questions.view import View

__all__ = ["Answered", "Known", "Pair", "Questions", "Verdict", "View"]
