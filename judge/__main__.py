"""`python -m judge` is the command `judge`."""

from judge.cli import main

main(prog_name="judge")
