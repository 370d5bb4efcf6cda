"""A study on workers in Kubernetes, started by the Dask operator, which has to be installed in the cluster.

    pip install "xoff[dask]" dask-kubernetes
    python kubernetes_dask.py study.toml study --image IMAGE

The image holds the same xoff as the machine that this runs on. The workers need no shared file system: where they do
not see the directory of the study, they send their runs back.
"""

from __future__ import annotations

import argparse

from dask_kubernetes.operator import KubeCluster
from distributed import Client

import xoff
from xoff.display import StudyBar


def main() -> None:
    """Start workers, run the study, and let the workers go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", help="the study file")
    parser.add_argument("out", help="the directory of the study")
    parser.add_argument("--image", required=True, help="an image with xoff[dask]")
    parser.add_argument("--workers", type=int, default=16, help="at most so many workers")
    arguments = parser.parse_args()
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}
    cluster = KubeCluster(
        name="xoff", image=arguments.image, resources=resources, worker_command="dask-worker --nthreads 1"
    )
    with cluster, Client(cluster) as client, StudyBar() as bar:
        cluster.adapt(minimum=1, maximum=arguments.workers)
        study = xoff.sweep(arguments.study, out=arguments.out, executor=client.get_executor(), progress=bar.report)
    print(study.status())


if __name__ == "__main__":
    main()
