#!/usr/bin/env bash
# Judges with every GPU of a Ray cluster, from a machine that reaches its dashboard:
#
#   ray job submit --address http://HEAD:8265 --working-dir . -- bash ray_job.sh
#
# The job runs on the head, which finds the cluster by RAY_ADDRESS: Ray sets that for a job. judge is
# installed there (pip install '.[ray]' in a checkout); the other nodes need Ray and vLLM alone.
# MODEL, REPLICAS (4, or 1-8 to have Ray choose) and what else the judge needs come from the
# environment, ARGUMENTS as they stand.
#
# Cut off, the job is submitted again: what was answered is in CACHE, which outlives the job.
set -euo pipefail
model=${MODEL:-StanfordAIMI/GREEN-radllama2-7b}
cache=${CACHE:-$HOME/judge-cache}
out=${OUT:-$HOME/judge-runs/green}
replicas=${REPLICAS:+--server replicas=$REPLICAS}

# shellcheck disable=SC2086  # several words are meant
exec judge green preds.json refs.json --judge "ray:$model" $replicas \
    --cache "$cache" --out "$out" ${ARGUMENTS:-}
