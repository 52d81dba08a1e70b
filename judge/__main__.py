"""`python -m judge` is the command `judge`."""

import gc
import sys


def main() -> None:
    """Start the command line; Ctrl-C while it is imported ends it as it does later."""
    gc.set_threshold(
        100_000, 20, 20
    )  # a run makes many small things that hold no circle
    try:
        from judge.cli import main as command

        command(prog_name="judge")
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
