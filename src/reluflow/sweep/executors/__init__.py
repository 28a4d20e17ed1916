"""Where cases are computed: this process, a pool of processes, a Dask cluster. One interface, the same numbers."""
