"""One self-contained HTML page about a fitted model."""

from s3c2.report.answers import Answers
from s3c2.report.writing import write_clusters_picture, write_report

__all__ = ["Answers", "write_clusters_picture", "write_report"]
