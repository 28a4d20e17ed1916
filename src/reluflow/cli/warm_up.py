"""`reluflow warm-up`: compile all numerical kernels now, so that nothing waits for them later."""

from __future__ import annotations

import time

import click

from reluflow.cli.arguments import json_option
from reluflow.cli.output import print_json


@click.command()
@json_option
def command(*, json: bool) -> None:
    """Compile all numerical kernels now, on all cores, once per machine and version.

    Without it every command compiles what it needs when it first needs it.

    Example: reluflow warm-up
    """
    from reluflow.cli.progress import compiling_bar
    from reluflow.warm_up import warm_up

    began = time.perf_counter()
    with compiling_bar() as show:
        compiled = warm_up(on_progress=show)
    seconds = time.perf_counter() - began
    if json:
        print_json({"compiled": compiled, "seconds": seconds})
    elif compiled:
        print(f"Compiled {compiled} kernels in {seconds:.1f} seconds; every command finds them from now on.")
    else:
        print("All kernels are compiled already.")
