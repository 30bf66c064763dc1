"""Lets ``python -m s3c2.cli`` do what ``s3c2`` does."""

from s3c2.cli import main

main()
