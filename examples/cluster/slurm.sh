#!/usr/bin/env bash
# One shard a task. From a folder that all nodes see:
#
#   sbatch slurm.sh preds.json refs.json my-run --judge gpt-6-luna --max-cost 10
#
# A task that failed goes on where it stopped: sbatch --array=3 slurm.sh, and the same arguments.
# When all are there: judge runs merge my-run/shard-* --out my-run/whole
#
#SBATCH --job-name=judge
#SBATCH --array=1-4
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=judge-%A-%a.log
set -euo pipefail

# The end of --array above. Not SLURM_ARRAY_TASK_COUNT: of --array=3 that is 1.
shards=4

[[ $# -ge 3 ]] || { echo "usage: sbatch slurm.sh PREDS REFS FOLDER [OPTION of judge green]..." >&2; exit 2; }
preds=$1 refs=$2 folder=$3
shift 3
task=${SLURM_ARRAY_TASK_ID:?start it with sbatch}

# exec: a signal reaches judge itself; one that is killed at once loses no answer either. A cache
# folder a task, since a cache on a network file system is for one machine (docs/gpu.md).
exec judge green "$preds" "$refs" --shard "$task/$shards" \
    --out "$folder/shard-$task" --cache "$folder/cache-$task" "$@"
