import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import reluflow
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.attempts import begin, begun
from reluflow.sweep.executors.serial import SerialExecutor
from reluflow.sweep.leases import LEASES, SILENCE_S, WORKERS, Leases, bucket_of, is_alive, remove_traces_of_the_dead
from reluflow.sweep.plan import make_plan
from reluflow.sweep.run import run_plan, sweep
from reluflow.sweep.segments import RESULTS, SegmentReader, StorageError, read_segment
from reluflow.sweep.store import status
from reluflow.sweep.table import write_table
from sweep.sweep_cases import SMALL, descendants, environment, finish, records, start

CASE = Experiment("three-points", width=6)
MEASURES = ["outcome", "loss", "end", "crossings", "proof"]


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return sweep(CASE, over=SMALL, measure=MEASURES, executor="serial", out=tmp_path_factory.mktemp("serial"))


def test_one_row_per_case_in_the_plan_s_order(serial):
    frame = serial.frame()
    assert list(frame) == ["scale", "seed", "fingerprint", "status", *MEASURES, "error"]
    assert frame["scale"].tolist() == [0.1, 0.1, 0.1, 0.001, 0.001, 0.001]
    assert frame["seed"].tolist() == [0, 1, 2, 0, 1, 2]
    assert frame["fingerprint"].tolist() == [serial.plan.case_at(index).fingerprint() for index in range(6)]
    assert (frame["status"] == "done").all()
    assert (serial.cases, serial.done, serial.failed, serial.computed) == (6, 6, 0, 6)
    assert status(serial.folder) == {"cases": 6, "done": 6, "failed": 0, "running": 0}


def test_the_measures_are_those_of_the_runs(serial):
    frame = serial.frame()
    data = reluflow.load("three-points")
    for row in frame.itertuples():
        network = reluflow.balanced_initialization(
            data, width=6, scale=row.scale, rng=np.random.default_rng([row.seed, 1])
        )
        problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
        trajectory = reluflow.train(problem, reluflow.EventDrivenFlow())
        assert row.loss == trajectory.loss
        assert row.outcome == trajectory.outcome.code
        assert row.crossings == trajectory.crossings


def test_labelled_arrays_have_the_swept_names_as_dimensions(serial):
    array = serial.to_xarray()
    assert array.sizes == {"scale": 2, "seed": 3}
    frame = serial.frame()
    assert float(array["loss"].sel(scale=0.001, seed=1)) == frame.loc[4, "loss"]


def test_duckdb_and_polars_read_the_table_as_it_is(serial):
    """The query of the documentation, against pandas."""
    import duckdb
    import polars

    path = serial.folder / "table.parquet"
    query = f"SELECT scale, avg(loss), count(*) FILTER (status = 'done') FROM '{path}' GROUP BY scale ORDER BY scale"
    rows = duckdb.sql(query).fetchall()
    means = serial.frame().groupby("scale")["loss"].mean()
    assert [(scale, done) for scale, _, done in rows] == [(0.001, 3), (0.1, 3)]
    np.testing.assert_allclose([mean for _, mean, _ in rows], means.to_numpy(), rtol=1e-14)
    types = {name: kind for name, kind, *_ in duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall()}
    wanted = {"scale": "DOUBLE", "seed": "BIGINT", "proof": "BOOLEAN", "fingerprint": "VARCHAR"}
    assert {name: types[name] for name in wanted} == wanted
    assert polars.read_parquet(path)["loss"].to_list() == serial.frame()["loss"].tolist()


@pytest.mark.usefixtures("loaded_workers")
def test_processes_give_the_same_bits(serial, tmp_path):
    other = sweep(CASE, over=SMALL, measure=MEASURES, executor="processes", workers=2, out=tmp_path)
    assert other.frame().equals(serial.frame())
    assert other.computed == 6
    assert len({path.parent for path in tmp_path.glob(f"{RESULTS}/*/*.txt")}) == 2, "both workers took part"


def test_the_same_call_computes_nothing_and_more_values_only_the_new(tmp_path):
    first = sweep(CASE, over=SMALL, measure=["loss"], executor="serial", out=tmp_path)
    before = records(tmp_path)
    again = sweep(CASE, over=SMALL, measure=["loss"], executor="processes", out=tmp_path)
    assert (first.computed, again.computed, again.done) == (6, 0, 6)
    assert records(tmp_path) == before
    more = sweep(
        CASE, over={"seed": "0..3", "scale": ["1e-3", "1e-1"]}, measure=["loss"], executor="serial", out=tmp_path
    )
    assert (more.cases, more.computed, more.done) == (8, 2, 8)
    other = sweep(CASE, over=SMALL, measure=["loss", "outcome"], executor="serial", out=tmp_path)
    assert other.computed == 6, "a measure that was not kept needs its run"


def test_the_table_can_be_rebuilt_from_the_results(tmp_path):
    made = sweep(CASE, over=SMALL, measure=MEASURES, executor="serial", out=tmp_path)
    before = made.frame()
    made.table.unlink()
    assert write_table(made.plan, tmp_path)["done"] == 6
    assert reluflow.sweep(CASE, over=SMALL, measure=MEASURES, out=tmp_path).frame().equals(before)


def test_a_failed_case_is_a_result_and_is_retried_on_request(tmp_path):
    over = {"loss": ["square", "logistic"], "seed": "0..1"}
    made = sweep(CASE, over=over, measure=["loss"], executor="serial", out=tmp_path)
    frame = made.frame()
    assert list(frame) == ["loss", "seed", "fingerprint", "status", "measured_loss", "error"]
    assert frame["status"].tolist() == ["done", "done", "failed", "failed"]
    assert frame["error"][2].startswith("`y` must hold only the labels -1 and 1")
    assert np.isnan(frame["measured_loss"][3])
    assert (made.done, made.failed, made.computed) == (2, 2, 4)
    assert sweep(CASE, over=over, measure=["loss"], executor="serial", out=tmp_path).computed == 0
    again = sweep(CASE, over=over, measure=["loss"], executor="serial", out=tmp_path, retry_failed=True)
    assert (again.done, again.failed, again.computed) == (2, 2, 2)


def test_a_mended_case_takes_the_place_of_its_failure(tmp_path):
    flag = tmp_path / "mended"

    def fragile(trajectory):
        if not flag.exists():
            raise RuntimeError("the device is off")
        return trajectory.loss

    out = tmp_path / "out"
    broken = sweep(CASE, over={"seed": "0..1"}, measure=[fragile], executor="serial", out=out)
    assert broken.frame()["error"].tolist() == ["RuntimeError: the device is off"] * 2
    assert "the device is off" in records(out)[0].trace
    flag.touch()
    mended = sweep(CASE, over={"seed": "0..1"}, measure=[fragile], executor="serial", out=out, retry_failed=True)
    assert (mended.done, mended.failed) == (2, 0)
    assert mended.frame()["error"].isna().all()


@pytest.mark.usefixtures("loaded_workers")
def test_a_measure_of_one_s_own_travels_to_the_workers_and_is_known_by_its_source(tmp_path):
    shift = 0.25
    over = {"seed": "0..2"}
    made = sweep(CASE, over=over, measure=[lambda t: t.loss + shift], executor="processes", workers=2, out=tmp_path)
    plain = sweep(CASE, over=over, measure=["loss"], executor="serial")
    assert made.frame()["measure"].tolist() == [loss + shift for loss in plain.frame()["loss"]]
    other = sweep(CASE, over=over, measure=[lambda t: 2.0 * t.loss], executor="serial", out=tmp_path)
    assert other.computed == 3


def test_a_measure_that_is_no_plain_value_fails_with_a_sentence():
    made = sweep(CASE, over={"seed": "0..0"}, measure=[lambda t: t.predictions], executor="serial")
    assert "must give a number, a boolean, a string or None, got ndarray" in made.frame()["error"][0]


def test_scales_beyond_doubles_keep_their_text():
    made = sweep(CASE, over={"scale": ["1e-3", "1e-400"]}, measure=["log_time"], executor="serial")
    assert made.frame()["scale"].tolist() == ["0.001", "1e-400"]


@pytest.mark.filterwarnings("ignore:.*is not a whole file of results")
def test_a_file_cut_short_is_never_read(tmp_path):
    """Every prefix of a segment, and one with a flipped bit, counts as absent, and its cases run again."""
    sweep(CASE, over=SMALL, measure=["loss"], executor="serial", out=tmp_path)
    path = sorted(tmp_path.glob(f"{RESULTS}/*/*.txt"))[0]
    content = path.read_bytes()
    for cut in [*range(0, len(content) - 1, 37), len(content) - 2]:
        path.write_bytes(content[:cut])
        assert read_segment(path) is None
    path.write_bytes(content.replace(b'"seconds"', b'"secondz"', 1))
    assert read_segment(path) is None
    again = sweep(CASE, over=SMALL, measure=["loss"], executor="serial", out=tmp_path)
    assert again.computed == content.count(b" done ")
    assert again.done == 6


def test_unfinished_files_of_a_dead_writer_are_left_alone(tmp_path):
    sweep(CASE, over=SMALL, measure=["loss"], executor="serial", out=tmp_path)
    folder = next((tmp_path / RESULTS).iterdir())
    (folder / ".000001.txt.abcd.part").write_bytes(b"reluflow sweep")
    assert sum(len(segment.lines) for segment in SegmentReader(tmp_path).new()) == 6


@pytest.mark.slow  # `test_two_containers_with_one_shared_folder_share_the_work` is the same with less in common
def test_two_sweeps_over_one_folder_share_the_work(tmp_path):
    words = ["sweep", "three-points", "--over", "seed=0..19", "--over", "scale=1e-1,1e-2", "--width", "8", "--json"]
    words += ["--measure", "loss", "--out", tmp_path, "--executor"]
    both = [start(*words, "processes", "--workers", "1"), start(*words, "serial")]
    answers = [finish(process) for process in both]
    assert [answer["done"] for answer in answers] == [40, 40]
    assert sum(answer["computed"] for answer in answers) == 40
    names = [record.fingerprint for record in records(tmp_path)]
    assert len(names) == len(set(names)) == 40


def test_leases_of_the_living_hold_and_of_the_dead_are_broken(tmp_path):
    one, two = Leases(tmp_path, "one"), Leases(tmp_path, "two")
    assert one.take("00ff", 3) == ""
    assert two.take("00ff", 3) is None
    one.release("00ff")
    assert two.take("00ff", 3) == ""
    mark = tmp_path / WORKERS / "two"
    mark.write_text(mark.read_text().replace(f'"pid": {__import__("os").getpid()}', '"pid": 4194304'))
    assert not is_alive(tmp_path, "two")
    assert one.take("00ff", 3) == "two", "the name of the worker whose results must be read"
    two.release("00ff")
    assert (tmp_path / LEASES / "00ff").exists(), "a broken lease is not its old owner's to release"


def test_a_silent_machine_is_given_up_after_a_while(tmp_path):
    import json
    import os

    Leases(tmp_path, "far")
    mark = tmp_path / WORKERS / "far"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "machine": "another host"}))
    assert is_alive(tmp_path, "far")
    os.utime(mark, (time.time() - SILENCE_S - 5,) * 2)
    assert not is_alive(tmp_path, "far")


def test_what_another_sweep_finished_meanwhile_is_found_and_not_computed(tmp_path):
    """The second sweep has read the folder before the first one wrote."""
    from reluflow.sweep.worker import Assignment, Worker

    plan = make_plan(CASE, {"seed": "0..2"}, ["loss"])
    with Worker(Assignment(str(tmp_path), "late", plan, {})) as late:
        run_plan(plan, tmp_path, SerialExecutor())
        report = late.work((0, 1, 2))
    assert (report.computed, report.found) == (0, 3)


def test_a_full_disk_stops_with_a_sentence_and_loses_nothing(tmp_path):
    """Files may not grow beyond a few hundred bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(state):
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))

    sweep(CASE, over={"seed": "0..1"}, measure=["loss"], executor="serial", out=tmp_path)
    try:
        with pytest.raises(StorageError, match="written: File too large; what was finished before is kept"):
            sweep(CASE, over={"seed": "0..5"}, measure=["loss"], executor="serial", out=tmp_path, progress=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(records(tmp_path)) == 2
    assert not list(tmp_path.rglob("*.part"))
    assert sweep(CASE, over={"seed": "0..5"}, measure=["loss"], executor="serial", out=tmp_path).computed == 4


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has /dev/full; a bounded file stands for it above"
)
def test_a_lease_that_finds_the_disk_full_is_no_death_of_a_worker(tmp_path, monkeypatch):
    """On a disk really full the lease failed before any result did: workers ended in tracebacks and were replaced."""
    import os

    sweep(CASE, over={"seed": "0..1"}, measure=["loss"], executor="serial", out=tmp_path)
    real = os.open

    def full(path, flags, *more, **options):
        made = real(path, flags, *more, **options)
        if Path(str(path)).parent.name != LEASES:
            return made
        os.close(made)
        return real("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StorageError, match="No space left on device; what was finished before is kept"):
        sweep(CASE, over={"seed": "0..5"}, measure=["loss"], executor="serial", out=tmp_path)
    monkeypatch.undo()
    assert not list((tmp_path / LEASES).iterdir())
    assert sweep(CASE, over={"seed": "0..5"}, measure=["loss"], executor="serial", out=tmp_path).computed == 4


def test_a_sweep_that_ends_leaves_the_marks_of_another_ones_tasks(tmp_path):
    """Every mark was deleted with the dead; who was given a lost task again would have computed all of it again."""
    alive, dead = Leases(tmp_path, "alive"), Leases(tmp_path, "dead")
    begin(tmp_path, "other-1", "alive")
    begin(tmp_path, "mine-1", "dead")
    (tmp_path / WORKERS / "dead").unlink()
    remove_traces_of_the_dead(tmp_path)
    assert begun(tmp_path, "other-1") == ["alive"]
    assert begun(tmp_path, "mine-1") == []
    alive.close()
    dead.close()
    remove_traces_of_the_dead(tmp_path)
    assert begun(tmp_path, "other-1") == []


def test_nobody_is_given_up_because_the_disk_is_full(tmp_path, monkeypatch):
    """Whether a worker of another machine is silent is asked of the folder's clock, which cannot be read there."""
    import json

    Leases(tmp_path, "far")
    mark = tmp_path / WORKERS / "far"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "machine": "another host"}))

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "touch", full)
    assert is_alive(tmp_path, "far")


def test_storage_errors_are_refusals_with_a_way_out():
    assert issubclass(StorageError, reluflow.errors.ReluflowError)


def test_ctrl_c_keeps_what_is_done(tmp_path):
    import signal

    words = ["sweep", "three-points", "--over", "seed=0..9999", "--width", "8", "--json", "--out", tmp_path]
    process = start(*words, "--workers", "2")
    deadline = time.monotonic() + 120
    while len(records(tmp_path)) < 5 and time.monotonic() < deadline:
        time.sleep(0.3)
    workers = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "are done and kept" in err
    assert "Traceback" not in err
    import json

    answer = json.loads(out)
    assert 5 <= answer["computed"] == answer["done"] == len(records(tmp_path)) < 10_000
    assert len(workers) == 3, "two workers and what they were forked from"
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers), "no worker is left behind"
    assert not list((tmp_path / LEASES).iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers import the script")
def test_a_script_that_sweeps_needs_no_guard(tmp_path):
    """Worker processes are forked from a program of their own, so that none runs the script again."""
    script = tmp_path / "mine.py"
    script.write_text(
        "import reluflow\n"
        "made = reluflow.sweep('three-points', over={'width': '4,5'}, measure=[lambda t: 1.5], workers=2)\n"
        "print(made.done, made.frame()['measure'].tolist())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment(), timeout=240)
    assert done.stdout == "2 [1.5, 1.5]\n", done.stderr


def test_names_of_executors_are_checked():
    with pytest.raises(InvalidInputError, match="`executor` must be one of serial, processes, dask, got 'threads'"):
        sweep(CASE, over={"seed": "0..1"}, executor="threads")
    with pytest.raises(InvalidInputError, match="`scheduler` is the address of a Dask scheduler"):
        sweep(CASE, over={"seed": "0..1"}, executor="serial", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InvalidInputError, match="`workers` must be at least 1"):
        sweep(CASE, over={"seed": "0..1"}, workers=0)


def test_cases_of_one_lease_stay_in_one_task():
    from reluflow.sweep.queue import TaskQueue
    from reluflow.sweep.store import Progress
    from reluflow.sweep.worker import Report

    plan = make_plan("three-points", {"seed": "0..19999"}, ["loss"])
    known = Progress(plan, Path("/nonexistent"))
    queue = TaskQueue(known, np.arange(len(plan)), 2, is_retry=False)
    names = plan.fingerprints()
    seen, given = set(), []
    while (task := queue.next_task()) is not None:
        buckets = {bucket_of(bytes(names[index]).hex()) for index in task}
        assert not buckets & seen
        seen |= buckets
        given.extend(task)
        queue.take(Report(task, computed=len(task), seconds=0.001 * len(task)))
    assert sorted(given) == list(range(len(plan)))
    assert queue.is_finished
