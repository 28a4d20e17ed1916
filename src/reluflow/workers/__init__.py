"""Worker processes: the one pool that studies, sweeps and the laboratory compute in.

Queueing, threads and futures are those of `concurrent.futures`, messages between processes those of
`multiprocessing.connection`. The executors for processes of `concurrent.futures` and loky are not used, because there
the death of one worker ends every call of the pool, workers outlive a parent that was killed, and a call that runs can
neither report nor be asked to stop.

Read `pool.py` first (what a caller sees), then `serving.py` (what a worker process does) and `starting.py` with
`fork_server.py` (how it is started).
"""
