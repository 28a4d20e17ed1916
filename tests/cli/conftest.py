"""Run the command line in this process and look at status, standard output and standard error."""

import json
from dataclasses import dataclass

import pytest

from reluflow.cli.main import run


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def reluflow(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as end:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        return Result(end.value.code, captured.out, captured.err)

    return call
