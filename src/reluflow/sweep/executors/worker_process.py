"""The program a worker process runs: `python -m reluflow.sweep.executors.worker_process`, tasks in, reports out.

Tasks come over standard input and reports go over standard output, pickled; whatever a run prints goes to standard
error. The input closes when the parent ends, however it ends: the worker then writes what is finished and leaves.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys

from reluflow.errors import ReluflowError
from reluflow.sweep.executors.messages import Readable, Writable, receive, send

ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def serve(tasks: Readable, reports: Writable) -> None:
    """Do tasks until none comes, or none for too long."""
    path, pickled, patience_s = receive(tasks)
    sys.path[:] = path
    from reluflow.sweep.worker import Worker

    def is_over() -> bool:
        """The parent sends nothing while we work, unless it wants us to stop or is gone."""
        return bool(select.select([tasks], [], [], 0)[0])

    try:
        with Worker(pickle.loads(pickled)) as worker:
            send(reports, worker.name)
            while select.select([tasks], [], [], patience_s)[0]:
                task, mark = receive(tasks)
                send(reports, worker.work(task, is_over, mark=mark))
    except EOFError:
        return
    except ReluflowError as error:
        send(reports, error)


def main() -> None:
    """Set up the streams and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    tasks = os.fdopen(os.dup(0), "rb", buffering=0)
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    try:
        serve(tasks, reports)
    except BrokenPipeError:
        return  # the parent is gone; what was finished is written


if __name__ == "__main__":
    main()
