"""What is drawn needs matplotlib, of the extra `dev`; CI has it."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("matplotlib") else ["test_plots_drawn.py"]
