"""A study on workers that Dask starts through Slurm, as many as the study needs, up to a limit.

    pip install "xoff[dask]" dask-jobqueue
    python slurm_dask.py study.toml /shared/study

Unlike a job array it is one command that lasts as long as the study and shows how far it is. The other queueing systems
of dask-jobqueue (PBS, LSF, SGE, OAR, HTCondor) take the place of ``SLURMCluster`` with the same arguments.
"""

from __future__ import annotations

import argparse

from dask_jobqueue import SLURMCluster
from distributed import Client

import xoff
from xoff.display import StudyBar


def main() -> None:
    """Start workers, run the study, and let the workers go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", help="the study file")
    parser.add_argument("out", help="the directory of the study")
    parser.add_argument("--queue", help="the partition")
    parser.add_argument("--jobs", type=int, default=16, help="at most so many jobs")
    arguments = parser.parse_args()
    # Eight processes of one thread in each job; a run takes one thread.
    cluster = SLURMCluster(queue=arguments.queue, cores=8, processes=8, memory="16GB", walltime="02:00:00")
    with cluster, Client(cluster) as client, StudyBar() as bar:
        cluster.adapt(minimum_jobs=1, maximum_jobs=arguments.jobs)
        study = xoff.sweep(arguments.study, out=arguments.out, executor=client.get_executor(), progress=bar.report)
    print(study.status())


if __name__ == "__main__":
    main()
