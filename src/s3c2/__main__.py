"""Lets ``python -m s3c2`` do what ``s3c2`` does, for torchrun: ``torchrun … -m s3c2 fit …``."""

from s3c2.cli import main

if __name__ == "__main__":
    main()
