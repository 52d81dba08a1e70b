"""Threads, forks, ends and copies: no call hangs, and each process has a judge of its own."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

from faultserver import FaultServer
from rewarding import Last, Make, expected, of_studies

from judge import RequestPolicy


def test_a_process_ends_quietly_with_its_judge_open(server: FaultServer, tmp_path: Any) -> None:
    program = (
        "from judge.reward import Reward\n"
        f"r = Reward(judge='model-x', base_url={server.url!r}, cache={str(tmp_path)!r})\n"
        "print(r.verl()('set', 'Clear.', 'study-0000. Clear.'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert float(done.stdout) == expected(0)
    assert "Traceback" not in done.stderr
    assert "Unclosed" not in done.stderr


def test_a_copy_for_another_process_is_made_of_the_same_arguments(made: Make) -> None:
    reward = made(
        report=Last(), name="mine", measure="n_significant", policy=RequestPolicy(reask=0)
    )
    asked = ("set", "REPORT: Clear.", of_studies(0)["reference"][0])
    found = reward.verl()(*asked)
    with pickle.loads(pickle.dumps(reward)) as copy:
        assert (copy.name, copy.signature) == (reward.name, reward.signature)
        assert copy.n_scored == 0
        assert copy.verl()(*asked) == found
        assert copy.n_scored == 1
