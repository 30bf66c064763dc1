"""One self-contained HTML page about a fitted model."""

from s3c2.report.writing import write_clusters_picture, write_report

__all__ = ["write_clusters_picture", "write_report"]
