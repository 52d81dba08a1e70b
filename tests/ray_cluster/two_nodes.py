#!/usr/bin/env python3
"""A Ray cluster of several nodes on this machine, as Ray's own tests make one.

    python two_nodes.py CPUS CPUS ...

Starts a node with each number of CPUs and no GPU, the first of them the head, and prints the
cluster's address. It then takes commands by line: `kill N` kills the N-th node with all that
runs on it, `add CPUS` starts another; each is answered by `done`. The end of its input ends
the cluster.
"""

from __future__ import annotations

import logging
import sys

from ray.cluster_utils import Cluster


def main() -> None:
    cluster = Cluster()
    nodes = [cluster.add_node(num_cpus=int(cpus), num_gpus=0) for cpus in sys.argv[1:]]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        command, number = line.split()
        if command == "kill":
            cluster.remove_node(nodes[int(number)], allow_graceful=False)
        else:
            nodes.append(cluster.add_node(num_cpus=int(number), num_gpus=0))
        print("done", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()
