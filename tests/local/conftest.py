"""The model that knows studies by heart is made as for the tests that start a vLLM."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "vllm"))
