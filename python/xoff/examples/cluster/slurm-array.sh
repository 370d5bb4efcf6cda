#!/usr/bin/env bash
# A study as a Slurm job array: each job does its part, and they need not run at the same time.
#   sbatch --array=1-16 examples/cluster/slurm-array.sh study.toml /shared/study
# A job that was cancelled, or ran out of time, goes on where it was when the same line is submitted again. The directory
# of the study is on a file system that all nodes see; the last job to end writes the data set.
#SBATCH --job-name=xoff
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=02:00:00
set -euo pipefail
study=${1:?the study file}
out=${2:?the directory of the study}
exec xoff sweep "$study" --out "$out" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --workers "${SLURM_CPUS_PER_TASK:-1}"
