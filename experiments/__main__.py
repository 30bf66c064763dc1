"""``python -m experiments``."""

from experiments.command_line import main

if __name__ == "__main__":
    main()
