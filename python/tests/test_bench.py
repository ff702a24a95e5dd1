"""The benchmark from Python: runs, policies written in Python, problems, tables, interruptions, the command."""

from __future__ import annotations

import csv
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import locus_bandits as lb

FAST: dict[str, Any] = {"trials": 2, "steps": 60, "progress": False}


class Greedy:
    """The action with the best mean reward, and a random one now and then."""

    def __init__(self, n_features: int, n_actions: int, seed: int, epsilon: float = 0.1) -> None:
        assert 0 <= seed < 2**32
        self.counts, self.sums = np.zeros(n_actions), np.zeros(n_actions)
        self.rng, self.epsilon = np.random.default_rng(seed), epsilon

    def choose(self, round: int, context: np.ndarray) -> tuple[int, float | None]:
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(len(self.counts))), None
        return int(np.argmax(self.sums / np.maximum(self.counts, 1))), 0.5

    def learn(self, round: int, context: np.ndarray, action: int, reward: float) -> None:
        self.counts[action] += 1
        self.sums[action] += reward


class Recorder(Greedy):
    """Keeps what it sees."""

    seen: list[tuple[int, np.ndarray, int, float]] = []

    def learn(self, round: int, context: np.ndarray, action: int, reward: float) -> None:
        self.seen.append((round, context, action, reward))


def rows(folder: Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    with open(folder / "trials.csv", newline="") as file:
        return {
            (row["problem"], row["policy"], row["trial"]): (row["cumulative_regret"], row["error"])
            for row in csv.DictReader(file)
        }


def command(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    locus = Path(sys.executable).parent / "locus"
    return subprocess.run([str(locus), *words], capture_output=True, text=True, **options)


def test_the_command_and_python_write_the_same_rows_and_curves(tmp_path: Path) -> None:
    lb.bench(["wheel", "linear"], ["lin-full-post", lb.LinUcb], out=tmp_path / "python", first_trial=3, seed=5, **FAST)
    words = "bench --problems wheel,linear --policies lin-full-post,lin-ucb --first-trial 3 --seed 5 --trials 2 --steps 60"
    done = command(*words.split(), "--out", str(tmp_path / "command"))
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "python") == rows(tmp_path / "command")
    curves = sorted(path.name for path in (tmp_path / "python/curves").iterdir())
    assert curves == sorted(path.name for path in (tmp_path / "command/curves").iterdir())
    for name in curves:
        assert (tmp_path / "python/curves" / name).read_bytes() == (tmp_path / "command/curves" / name).read_bytes()
    assert command("status", str(tmp_path / "python")).returncode == 0
    assert command("report", str(tmp_path / "python")).returncode == 0
    assert "lin-ucb" in str(lb.Run(tmp_path / "command").table())
    # Either side resumes what the other began.
    done = command(*words.split(), "--out", str(tmp_path / "python"))
    assert "nothing left to run" in done.stdout


@pytest.mark.parametrize("policy", ["lin-full-post", "lin-pool", "lu-gauss[minibatches=3]", "bootstrap[minibatches=3]"])
@pytest.mark.parametrize("propensities", [False, True])
def test_a_trial_driven_from_python_is_the_trial_of_rust(policy: str, propensities: bool, tmp_path: Path) -> None:
    lb.bench(["wheel"], [policy], out=tmp_path, trials=1, first_trial=2, steps=300, seed=9, propensities=propensities)
    files = [path for path in (tmp_path / "curves").glob("*.action.npy") if "uniform" not in path.name]
    expected = np.load(files[0])
    problem = lb.Problem("wheel")
    contexts, rewards, best = problem.rounds(300, seed=9, trial=2)
    seed = problem.policy_seed(policy, seed=9, trial=2)
    mine = lb.Policy(policy, n_features=problem.n_features, n_actions=problem.n_actions, seed=seed)
    actions = []
    for t, context in enumerate(contexts):
        decision = mine.choose(context, propensity=propensities)
        assert decision.round == t
        actions.append(decision.action)
        mine.learn(context, decision.action, rewards[t, decision.action])
    assert actions == expected.tolist()
    regret = best.sum() - rewards[np.arange(300), actions].sum()
    np.testing.assert_allclose(regret, np.load(files[0].with_name(files[0].name.replace("action", "regret"))).sum())


@pytest.mark.parametrize("propensities", [False, True])
def test_a_trial_among_candidates_can_be_driven_from_python(propensities: bool, tmp_path: Path) -> None:
    policy = "lin-full-post[interactions=all]"
    lb.bench(["bilinear"], [policy], out=tmp_path, trials=1, first_trial=2, steps=100, seed=9, propensities=propensities)
    files = [path for path in (tmp_path / "curves").glob("*.action.npy") if "uniform" not in path.name]
    problem = lb.Problem("bilinear")
    assert (problem.n_features, problem.n_actions, problem.n_action_features) == (10, 0, 5)
    (contexts, rewards, _), candidates = problem.rounds(100, seed=9, trial=2), problem.candidates(100, seed=9, trial=2)
    assert (rewards.shape, candidates.shape) == ((100, 20), (100, 20, 5))
    seed = problem.policy_seed(policy, seed=9, trial=2)
    mine = lb.Policy(policy, n_features=10, n_action_features=5, seed=seed)
    actions = []
    for t, context in enumerate(contexts):
        action = mine.choose(context, candidates=candidates[t], propensity=propensities).action
        actions.append(action)
        mine.learn(context, action, rewards[t, action], action_features=candidates[t, action])
    assert actions == np.load(files[0]).tolist()
    with pytest.raises(ValueError, match="have no features"):
        lb.Problem("wheel").candidates(10)


def test_policies_that_know_no_candidates_are_refused(tmp_path: Path) -> None:
    for policy in ["bbb", Recorder]:
        with pytest.raises(ValueError, match="the actions of `bilinear` have features"):
            lb.bench(["bilinear"], [policy], out=tmp_path / "run", trials=1, steps=10)
    assert not (tmp_path / "run").exists()


def test_a_python_policy_sees_the_rounds_of_the_trial_and_is_recorded(tmp_path: Path) -> None:
    Recorder.seen = []
    run = lb.bench(["linear"], [Recorder, "lin-ucb"], out=tmp_path, trials=1, steps=50, progress=False)
    contexts, rewards, _ = lb.Problem("linear").rounds(50)
    assert [row[0] for row in Recorder.seen] == list(range(50))
    for t, context, action, reward in Recorder.seen:
        assert context.dtype == np.float32
        np.testing.assert_array_equal(context, contexts[t])
        assert reward == rewards[t, action]
    assert {policy for _, policy, _ in rows(tmp_path)} == {"uniform", "lin-ucb", "Recorder"}
    for text in (str(run.table()), str(run.compare("Recorder")), run.table().to_latex(), run.table()._repr_html_()):
        assert "Recorder" in text
    page = Path(run.report()).read_text()
    assert "Recorder" in page


def test_names_settings_and_versions_of_python_policies(tmp_path: Path) -> None:
    policies = [lb.external(Greedy, name=f"greedy-{e}", version="2", epsilon=e) for e in (0.0, 0.5)]
    lb.bench(["linear"], policies, out=tmp_path, **FAST)
    found = rows(tmp_path)
    assert found["linear", "greedy-0.0", "0"] != found["linear", "greedy-0.5", "0"]
    versions = (tmp_path / "trials.csv").read_text()
    assert "+2," in versions
    again = [lb.external(Greedy, name="greedy-0.0", version="3")]
    with pytest.warns(UserWarning, match="were run by locus"):
        lb.bench(["linear"], again, out=tmp_path, **FAST)
    for name in ("two words", "lin-ucb", "", "é"):
        with pytest.raises(ValueError, match="cannot be called|has no name"):
            lb.bench(["linear"], [lb.external(Greedy, name=name or " ")], out=tmp_path / "x", **FAST)


class FailsAtFive(Greedy):
    def learn(self, round: int, context: np.ndarray, action: int, reward: float) -> None:
        if round == 5:
            raise ValueError("this is not good")


class Strange(Greedy):
    answer: Any = None

    def choose(self, round: int, context: np.ndarray) -> Any:
        return self.answer


def test_exceptions_are_failed_trials_that_say_where(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="2 of the trials failed"):
        run = lb.bench(["linear"], [FailsAtFive, "lin-ucb"], out=tmp_path, **FAST)
    error = rows(tmp_path)["linear", "FailsAtFive", "1"][1]
    assert error.startswith("round 5: ValueError: this is not good (test_bench.py, line ")
    assert error.endswith("in learn)")
    assert "2 trials failed" in str(run.table())
    # The next run tries them again, and only them.
    with pytest.warns(UserWarning, match="2 of the trials failed"):
        lb.bench(["linear"], [FailsAtFive, "lin-ucb"], out=tmp_path, **FAST)
    assert len(rows(tmp_path)) == 6


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (70, "70"),
        (-1, "the action is negative"),
        (1.5, "the action is not an integer"),
        ("a", "the action is not an integer"),
        (None, "the action is not an integer"),
        ((1, 2, 3), "a tuple of 3"),
        ((1, 0.0), "the propensity is not a number above 0"),
        ((1, float("nan")), "the propensity is not a number above 0"),
    ],
)
def test_impossible_answers_are_refused(answer: Any, expected: str, tmp_path: Path) -> None:
    Strange.answer = answer
    with pytest.warns(UserWarning, match="trials failed"):
        lb.bench(["linear"], [Strange], out=tmp_path, **FAST)
    assert expected in rows(tmp_path)["linear", "Strange", "0"][1]
    Strange.answer = np.int64(1)


def test_a_class_without_the_methods_is_refused(tmp_path: Path) -> None:
    class Nothing:
        def __init__(self, n_features: int, n_actions: int, seed: int) -> None:
            pass

    with pytest.warns(UserWarning, match="no attribute 'choose'"):
        lb.bench(["linear"], [Nothing], out=tmp_path, **FAST)


def test_processes_give_the_rows_of_one_process(tmp_path: Path) -> None:
    lb.bench(["linear", "wheel"], [Greedy, FailsAtFive][:1], out=tmp_path / "one", **FAST)
    with warnings.catch_warnings():
        lb.bench(["linear", "wheel"], [Greedy], out=tmp_path / "two", processes=2, **FAST)
    assert rows(tmp_path / "one") == rows(tmp_path / "two")
    with pytest.warns(UserWarning, match="this is not good"):
        lb.bench(["linear"], [FailsAtFive], out=tmp_path / "fails", processes=2, **FAST)
    assert rows(tmp_path / "fails")["linear", "FailsAtFive", "0"][1].startswith("round 5: ValueError: this is not good")


class Dies(Greedy):
    def choose(self, round: int, context: np.ndarray) -> Any:
        os._exit(3)


def test_a_process_that_dies_takes_its_trials_alone(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the process of the trial died with exit code 3"):
        lb.bench(["linear"], [Dies, Greedy], out=tmp_path, processes=3, trials=4, steps=60, progress=False)
    found = rows(tmp_path)
    for trial in "0123":
        assert "exit code 3" in found["linear", "Dies", trial][1] and found["linear", "Greedy", trial][1] == ""


@pytest.mark.parametrize("source", ["stdin", "script"])
def test_the_main_program_is_not_run_again_in_processes(source: str, tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    program = """
print("once")
import locus_bandits as lb
class Mine:
    def __init__(self, n_features, n_actions, seed): self.n = n_actions
    def choose(self, round, context):
        print("noise")
        return round % self.n
    def learn(self, round, context, action, reward): pass
lb.bench(["linear"], [Mine], trials=2, steps=20, out="run", processes=2)
"""
    (tmp_path / "script.py").write_text(program)
    words = [sys.executable, "-" if source == "stdin" else "script.py"]
    done = subprocess.run(words, input=program, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout == "once\n", done
    assert rows(tmp_path / "run")["linear", "Mine", "1"][1] == ""


@pytest.mark.parametrize("processes", [1, 3])
def test_ctrl_c_of_a_terminal_discards_what_is_running(processes: int, tmp_path: Path) -> None:
    """A terminal signals the whole group of processes."""
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "class Slow:\n"
        "    def __init__(self, n_features, n_actions, seed): open('begun', 'w').close()\n"
        "    def choose(self, round, context): time.sleep(0.002); return 0\n"
        "    def learn(self, round, context, action, reward): pass\n"
    )
    (tmp_path / "main.py").write_text(
        "import locus_bandits as lb, slow\n"
        f"lb.bench(['linear'], [slow.Slow], trials=3, steps=100_000, out='run', processes={processes})\n"
    )
    process = subprocess.Popen(
        [sys.executable, "main.py"], cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode != 0 and "finished trials are kept" in error
    assert {policy for _, policy, _ in rows(tmp_path / "run")} == {"uniform"}


def test_no_process_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, time\n"
        "class Slow:\n"
        "    def __init__(self, n_features, n_actions, seed): open(f'pid-{os.getpid()}', 'w').close()\n"
        "    def choose(self, round, context): time.sleep(0.01); return 0\n"
        "    def learn(self, round, context, action, reward): pass\n"
    )
    program = "import locus_bandits as lb, slow\n"
    program += "lb.bench(['linear'], [slow.Slow], trials=2, steps=1_000_000, out='run', processes=2)\n"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    while len(list(tmp_path.glob("pid-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    for path in tmp_path.glob("pid-*"):
        number = int(path.name.removeprefix("pid-"))
        # They would run for hours; a zombie that nobody waits for is gone, too.
        while True:
            try:
                if Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    break
            except (FileNotFoundError, ProcessLookupError):
                break
            time.sleep(0.05)


def test_changed_code_and_settings_are_noticed(tmp_path: Path) -> None:
    lb.bench(["linear"], [lb.external(Greedy, name="mine", epsilon=0.1)], out=tmp_path, **FAST)
    lb.bench(["linear"], [lb.external(Greedy, name="mine", epsilon=0.1)], out=tmp_path, **FAST)
    for other in (lb.external(Greedy, name="mine", epsilon=0.2), lb.external(Recorder, name="mine", epsilon=0.1)):
        with pytest.warns(UserWarning, match="were run by locus"):
            lb.bench(["linear"], [other], out=tmp_path, **FAST)


class Wanders(Greedy):
    def __init__(self, n_features: int, n_actions: int, seed: int) -> None:
        super().__init__(n_features, n_actions, seed)
        os.chdir("/")


def test_a_policy_may_change_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = lb.bench(["linear"], [Wanders], out="run", **FAST)
    assert len(run.trials["policy"]) == 4 and len(list((tmp_path / "run/curves").iterdir())) == 8


def test_classes_that_the_benchmark_would_not_call_are_refused() -> None:
    class Tuned(lb.LinFullPost):
        pass

    trained = lb.LinUcb(n_features=10, n_actions=8)
    trained.learn([0.0] * 10, 1, 1.0)
    for item, message in {
        Tuned: "methods the benchmark would not call",
        Tuned(n_features=10, n_actions=8): "methods the benchmark would not call",
        lb.Policy: "which policy is meant",
        trained: "has learned already",
    }.items():
        with pytest.raises(ValueError, match=message):
            lb.bench(["linear"], [item], **FAST)
    run = lb.bench(["linear"], [lb.LinUcb(n_features=10, n_actions=8, floor=0.1)], **FAST)
    assert "lin-ucb[floor=0.1]" in set(run.trials["policy"])


def test_without_standard_error_nothing_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    lb.bench(["linear"], ["lin-ucb"], trials=1, steps=20, out=tmp_path)


def test_tables_keep_names_that_look_like_numbers(tmp_path: Path) -> None:
    run = lb.bench(["linear"], [lb.external(Greedy, name="0"), lb.external(Greedy, name="nan")], out=tmp_path, **FAST)
    assert {"0", "nan"} <= set(run.table().to_frame()["policy"])


def test_a_class_on_standard_input_takes_part(tmp_path: Path) -> None:
    program = """
import locus_bandits as lb
class Mine:
    def __init__(self, n_features, n_actions, seed): self.n = n_actions
    def choose(self, round, context): return round % self.n
    def learn(self, round, context, action, reward): pass
lb.bench(["linear"], [Mine], trials=1, steps=20, out="run")
"""
    done = subprocess.run([sys.executable, "-"], input=program, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert ("linear", "Mine", "0") in rows(tmp_path / "run")


class Slow(Greedy):
    started = threading.Event()

    def choose(self, round: int, context: np.ndarray) -> tuple[int, float | None]:
        self.started.set()
        time.sleep(0.002)
        return 0, None


@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_keeps_what_is_done(processes: int, tmp_path: Path) -> None:
    Slow.started.clear()

    def interrupt() -> None:
        # In other processes the event cannot be seen; there the rows of ours are waited for.
        deadline = time.monotonic() + 60
        while not Slow.started.is_set() and time.monotonic() < deadline:
            if processes > 1 and (tmp_path / "trials.csv").exists() and len(rows(tmp_path)) == 2:
                break
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        lb.bench(["linear"], [Slow], out=tmp_path, trials=2, steps=100_000, processes=processes, progress=False)
    thread.join()
    assert set(rows(tmp_path)) == {("linear", "uniform", "0"), ("linear", "uniform", "1")}


def test_problems_of_arrays_labels_frames_and_files(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    rewards = X @ rng.normal(size=(3, 4))
    arrays = lb.Problem.from_arrays(X, rewards, name="mine")
    contexts, found, best = arrays.rounds(100)
    np.testing.assert_array_equal(contexts, X[:100].astype(np.float32))
    np.testing.assert_array_equal(found, rewards[:100])
    np.testing.assert_array_equal(best, rewards[:100].max(axis=1))
    np.savez(tmp_path / "mine.npz", contexts=X, rewards=rewards)
    lb.bench([arrays], ["lin-ucb"], out=tmp_path / "python", **FAST)
    words = ("bench", "--npz", "mine.npz", "--policies", "lin-ucb", "--trials", "2", "--steps", "60", "--out", "command")
    assert command(*words, cwd=tmp_path).returncode == 0
    assert rows(tmp_path / "python") == rows(tmp_path / "command")

    labels = np.array(["red", "green", "blue"])[rewards.argmax(axis=1) % 3]
    table = {"a": X[:, 0], "b": X[:, 1], "kind": np.array(["x", "y"])[(X[:, 2] > 0).astype(int)], "color": labels}
    frame = lb.Problem.from_frame(pandas.DataFrame(table), "color", name="colors")
    other = lb.Problem.from_frame(polars.DataFrame(table), "color", name="colors")
    assert (frame.n_features, frame.n_actions, frame.max_steps) == (4, 3, 120)
    for one, two in zip(frame.rounds(50, trial=3), other.rounds(50, trial=3)):
        np.testing.assert_array_equal(one, two)
    pandas.DataFrame(table).to_csv(tmp_path / "colors.csv", index=False)
    file = lb.Problem.from_csv(tmp_path / "colors.csv", "color")
    np.testing.assert_array_equal(frame.rounds(50)[0], file.rounds(50)[0])
    assert lb.Problem.from_frame(pandas.DataFrame(table), "color", ignore=["kind"]).n_features == 2
    gaps = pandas.DataFrame({**table, "id": [f"u{row}" for row in range(120)]})
    gaps.loc[:9, "a"] = np.nan
    notes = lb.Problem.from_frame(gaps, "color", name="gaps").notes
    assert notes == [
        'gaps: dropped 10 of 120 rows, in which a value is missing; missing="median" keeps those with a label',
        "gaps: ignored id (identifier); categorical= or numeric= forces a column",
    ]
    (tmp_path / "precious.csv").write_text("mine")
    for name in (str(tmp_path / "precious"), "../precious", "a/b", ""):
        with pytest.raises(ValueError, match="expected a name without folders"):
            lb.Problem.from_frame(pandas.DataFrame(table), "color", name=name)
    assert (tmp_path / "precious.csv").read_text() == "mine"
    for missing in (None, np.nan, pandas.NA, pandas.NaT):
        with pytest.raises(ValueError, match="the label of row 2 is missing"):
            lb.Problem.from_labels(X[:4], ["a", "b", missing, "a"])
    with pytest.raises(ValueError, match="the label of row 1 is missing"):
        lb.Problem.from_labels(X[:2], np.ma.masked_array([1, 2], mask=[False, True]))
    numbers = lb.Problem.from_labels(X, labels, name="numbers")
    assert (numbers.n_features, numbers.n_actions) == (3, 3)
    contexts, _, _ = numbers.rounds(120)
    np.testing.assert_allclose(contexts.mean(axis=0), 0, atol=1e-5)
    run = lb.bench([arrays, frame, numbers, "wheel"], ["lin-ucb"], trials=1)
    assert set(run.trials.problem) == {"mine", "colors", "numbers", "wheel"}
    assert set(run.trials.steps) == {120}, "the rows of the smallest own problem"


def test_bad_problems_are_refused(tmp_path: Path) -> None:
    X, rewards = np.zeros((4, 2)), np.zeros((4, 3))
    for message, call in {
        "one reward for each action": lambda: lb.Problem.from_arrays(X, rewards[:3]),
        "expected two dimensions": lambda: lb.Problem.from_arrays(X[0], rewards),
        "not the index of the best action": lambda: lb.Problem.from_arrays(X, rewards, optimal=np.zeros(4, int)),
        "`optimal` has shape": lambda: lb.Problem.from_arrays(X, rewards, optimal=np.zeros(3)),
        "is NaN": lambda: lb.Problem.from_arrays(X * np.nan, rewards),
        "built-in": lambda: lb.Problem.from_arrays(X, rewards, name="wheel"),
        "labels for 4 rows": lambda: lb.Problem.from_labels(X, [1, 2]),
        "2 to 10000": lambda: lb.Problem.from_labels(X, [1, 1, 1, 1]),
        "the label of row 2 is missing": lambda: lb.Problem.from_labels(X, [1, 2, np.nan, 1]),
        "more than one dimension": lambda: lb.Problem.from_labels(X, [[1], [2], [1], [2]]),
        "steps is -1": lambda: lb.Problem("wheel").rounds(-1),
        "trials is 1.5": lambda: lb.bench(["wheel"], ["lin-ucb"], trials=1.5),  # type: ignore[arg-type]
        "policies is the text": lambda: lb.bench(["wheel"], ["lin-ucb"], **FAST).table(policies="lin-ucb"),
        "index of the best action$": lambda: lb.Problem.from_arrays(X, rewards, optimal=[0, 1, 2, 0]),
        "expected a pandas or polars": lambda: lb.Problem.from_frame({"a": [1]}, "a"),
        "no problem is called `whel`": lambda: lb.Problem("whel"),
        "two problems are called": lambda: lb.bench(["wheel", "wheel"], ["lin-ucb"], out=tmp_path / "x", **FAST),
        "expected a list of problems": lambda: lb.bench("wheel", ["lin-ucb"]),
        "expected a list of policies": lambda: lb.bench(["wheel"], "lin-ucb"),
        "no policy is called `lin-ucp`": lambda: lb.bench(["wheel"], ["lin-ucp"], out=tmp_path / "y"),
        "among the policies": lambda: lb.bench(["wheel"], [3], out=tmp_path / "y"),  # type: ignore[list-item]
        "trials is 0": lambda: lb.bench(["wheel"], ["lin-ucb"], trials=0),
        "jobs is 0": lambda: lb.bench(["wheel"], ["lin-ucb"], jobs=0),
        "no suite is called|unknown suite|neither": lambda: lb.bench(suite="papr"),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(FileNotFoundError, match="mushroom"):
        lb.Problem("mushroom", data=tmp_path)
    with pytest.raises(FileNotFoundError):
        lb.Problem.from_csv(tmp_path / "missing.csv", "y")
    with pytest.raises(FileNotFoundError, match="no trials.csv"):
        lb.Run(tmp_path)


def test_tables_in_every_form(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run = lb.bench(["linear", "wheel"], ["lin-ucb", "lin-full-post"], out=tmp_path, trials=3, steps=60)
    table = run.table()
    assert table.to_markdown().startswith("| policy |") and "\\toprule" in table.to_latex()
    frame = table.to_frame()
    assert {"policy", "problem", "mean"} <= set(frame.columns)
    assert "<table>" in run._repr_html_() and "lin-ucb" in run._repr_html_()
    assert repr(run).startswith("Run(")
    assert len(run.table(policies=["lin-ucb"], problems=["wheel"]).to_frame()) == 6
    assert "seconds" in str(run.table("runtime")).lower()
    compared = run.compare("lin-ucb", "simple")
    assert "lin-full-post" in str(compared) and "lin-full-post" in compared._repr_html_()
    with pytest.raises(ValueError, match="compares regrets"):
        run.compare("lin-ucb", "runtime")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no trial has|no policy"):
        run.compare("lin-pool")
    with pytest.raises(ValueError, match="metric"):
        run.table("regret")  # type: ignore[arg-type]
    trials = run.trials
    assert len(trials) == 18 and (trials.cumulative_regret > 0).all() and (trials.error == "").all()
    report = run.report(tmp_path / "page")
    assert report.path == tmp_path / "page/report.html" and report.path.exists() and "<a href" in report._repr_html_()
    assert run.figures() and all(figure.svg.startswith("<svg") for figure in run.figures())


def test_without_a_folder_the_run_is_temporary() -> None:
    run = lb.bench(["linear"], ["lin-ucb"], **FAST)
    folder = run.folder
    assert folder.exists()
    table, figure, report = run.table(), run.figures()[0], run.report()
    del run
    gc.collect()
    # The folder stays as long as anything that was made of it.
    assert "lin-ucb" in table._repr_html_() and figure.svg.startswith("<svg") and report.path.exists()
    assert figure.name == "regret"
    del table, figure, report
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("hidden", [("pandas",), ("pandas", "polars")])
def test_frames_are_what_is_installed(hidden: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if hidden == ("pandas",):
        pytest.importorskip("polars")
    run = lb.bench(["linear"], ["lin-ucb"], out=tmp_path, **FAST)
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    trials = run.trials
    expected = "DataFrame" if len(hidden) == 1 else "dict"
    assert type(trials).__name__ == expected
    assert len(trials["problem"]) == 4
    assert type(run.table().to_frame()).__name__ == expected


def test_progress_is_shown_in_a_terminal(tmp_path: Path) -> None:
    import pty

    program = "import locus_bandits as lb; lb.bench(['linear'], ['lu-gauss'], trials=2, steps=400, out='run')"
    primary, secondary = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=secondary)
    os.close(secondary)
    shown = b""
    while True:
        try:
            chunk = os.read(primary, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(primary)
    assert process.wait() == 0
    assert b"4 of 4 trials" in shown and b"\r" in shown


def test_the_command_is_installed() -> None:
    done = command("--version")
    assert done.returncode == 0 and done.stdout.startswith("locus ")
    assert command("policies", "lu-gauss").stdout.startswith("lu-gauss")
    wrong = command("bench", "--policies", "lu-gaus")
    assert wrong.returncode == 2 and "did you mean `lu-gauss`?" in wrong.stderr


def test_environments_pass_the_check_of_gymnasium() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    env = lb.make_env("wheel", seed=4, steps=30)
    with warnings.catch_warnings():
        # It advises against unbounded observations.
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_render_check=True)
    env = lb.make_env("wheel", seed=4, trial=2, steps=30)
    contexts, rewards, best = lb.Problem("wheel").rounds(30, seed=4, trial=2)
    observation, info = env.reset()
    assert info == {"trial": 2}
    for t in range(30):
        np.testing.assert_array_equal(observation, contexts[t])
        observation, reward, terminated, truncated, info = env.step(1)
        assert reward == rewards[t, 1] and info["regret"] == best[t] - rewards[t, 1]
        assert (terminated, truncated) == (False, t == 29)
    with pytest.raises(RuntimeError, match="has ended"):
        env.step(0)
    assert env.reset()[1] == {"trial": 3}
    with pytest.raises(ValueError, match="expected an integer from 0 to"):
        env.step(99)
    assert isinstance(env, gymnasium.Env)


def test_progress_is_shown_in_a_notebook(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "class Mine:\n"
        "    def __init__(self, n_features, n_actions, seed): self.n = n_actions\n"
        "    def choose(self, round, context): return round % self.n\n"
        "    def learn(self, round, context, action, reward): pass",
        "import locus_bandits as lb\n"
        "lb.bench(['linear'], ['lu-gauss', Mine], trials=2, steps=400, out='run')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pages = [output["data"]["text/html"] for output in notebook.cells[1].outputs if "data" in output]
    assert any("<progress" in page and "6 of 6 trials" in page for page in pages), pages
    assert "<table>" in pages[-1] and "Mine" in pages[-1]
