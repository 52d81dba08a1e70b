#!/usr/bin/env python3
"""A Ray cluster of several nodes on this machine, as Ray's own tests make one.

    python two_nodes.py CPUS CPUS ...

Starts a node with each number of CPUs and no GPU, the first of them the head, and prints the
cluster's address. The end of its input ends the cluster.
"""

from __future__ import annotations

import logging
import sys

from ray.cluster_utils import Cluster


def main() -> None:
    cluster = Cluster()
    for cpus in sys.argv[1:]:
        cluster.add_node(num_cpus=int(cpus), num_gpus=0)
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()
