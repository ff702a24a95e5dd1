"""Policies and snapshots: decisions, learning, saving, scikit-learn's manners, threads."""

from __future__ import annotations

import copy
import inspect
import io
import os
import pickle
import pydoc
import runpy
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import locus_bandits as lb

N_FEATURES, N_ACTIONS = 5, 3
IDS = [info["id"] for info in lb.policies()]
# Short training, so that every policy can be tried.
SHORT = {"minibatches": 2, "prior_minibatches": 2, "batch_size": 8}


def short(policy_id: str) -> str:
    keys = {setting["key"] for info in lb.policies() if info["id"] == policy_id for setting in info["settings"]}
    settings = ",".join(f"{key}={value}" for key, value in SHORT.items() if key in keys)
    return f"{policy_id}[{settings}]"


def build(policy_id: str, seed: int = 7) -> lb.Policy:
    return lb.Policy(short(policy_id), n_features=N_FEATURES, n_actions=N_ACTIONS, seed=seed)


def contexts(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, N_FEATURES)).astype(np.float32)


def trained(policy_id: str, n: int = 40) -> lb.Policy:
    policy = build(policy_id)
    for x in contexts(n):
        decision = policy.choose(x)
        policy.learn(x, decision.action, float(decision.action == 1) + 0.1 * float(x[0]))
    return policy


@pytest.mark.parametrize("policy_id", IDS)
def test_every_policy_decides_learns_and_continues_after_it_is_saved(policy_id: str, tmp_path: Path) -> None:
    policy = trained(policy_id)
    assert (policy.n_observed, policy.next_round) == (40, 40)
    policy.choose(contexts(1)[0])
    policy.save(tmp_path / "p.locus")
    copies = [
        lb.load(tmp_path / "p.locus"),
        lb.load(policy.to_bytes()),
        pickle.loads(pickle.dumps(policy)),
        copy.deepcopy(policy),
    ]
    X = contexts(20, seed=3)
    expected = [policy.choose(x) for x in X]
    assert all(decision.propensity is not None and 0 < decision.propensity <= 1 for decision in expected)
    assert [decision.round for decision in expected] == list(range(41, 61))
    for other in copies:
        assert (other.n_observed, other.next_round, other.name) == (40, 41, policy.name)
        assert [other.choose(x) for x in X] == expected
    assert [path.name for path in tmp_path.iterdir()] == ["p.locus"]


@pytest.mark.parametrize("policy_id", IDS)
def test_probabilities_add_up_and_masks_hold(policy_id: str) -> None:
    policy = trained(policy_id)
    X = contexts(10, seed=1)
    probabilities = policy.predict_proba(X)
    assert probabilities.shape == (10, N_ACTIONS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(policy.predict(X), probabilities.argmax(axis=1))
    mask = np.ones((10, N_ACTIONS), bool)
    mask[np.arange(10), policy.predict(X)] = False
    actions, propensities = policy.choose_many(X, allowed=mask)
    assert propensities is not None and (propensities > 0).all()
    assert mask[np.arange(10), actions].all()
    assert (policy.predict_proba(X, allowed=[True, False, True])[:, 1] == 0).all()
    assert policy.choose(X[0], allowed=[False, True, False]).action == 1


def test_batches_of_linear_policies_choose_as_one_by_one() -> None:
    X = contexts(100, seed=2)
    for propensity in (True, False):
        one, many = trained("lin-full-post"), trained("lin-full-post")
        decisions = [one.choose(x, propensity=propensity) for x in X]
        actions, propensities = many.choose_many(X, propensity=propensity)
        assert [decision.action for decision in decisions] == actions.tolist()
        assert (propensities is None) == (not propensity)
        assert one.next_round == many.next_round == 140


def test_the_kind_of_array_makes_no_difference() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = contexts(30, seed=4)
    policy = trained("lin-full-post")
    expected = policy.predict_proba(X)
    wide = np.zeros((30, 2 * N_FEATURES), np.float32)
    wide[:, ::2] = X
    misaligned = np.frombuffer(b"x" + X.tobytes(), np.float32, offset=1).reshape(X.shape)
    for other in (
        X.astype(np.float64),
        np.asfortranarray(X),
        wide[:, ::2],
        misaligned,
        X.astype(">f4"),
        X.tolist(),
        pandas.DataFrame(X),
        polars.DataFrame(X),
    ):
        np.testing.assert_array_equal(policy.predict_proba(other), expected)
    first = policy.choose(X[0], round=99)
    assert not misaligned.flags.aligned
    for other in (X[0].astype(np.float64), wide[0, ::2], X[0].tolist(), pandas.Series(X[0]), polars.Series(X[0])):
        assert policy.choose(other, round=99) == first


def test_arrays_are_copied() -> None:
    X, actions, rewards = contexts(20), np.ones(20, np.int64), np.ones(20)
    policy = build("neural-linear")
    policy.learn(X, actions, rewards)
    before = policy.to_bytes()
    X[:], actions[:], rewards[:] = 9, 0, 5
    assert policy.to_bytes() == before


def test_learning_many_rows_is_learning_one_by_one_for_linear_policies() -> None:
    X, rng = contexts(50), np.random.default_rng(1)
    actions, rewards = rng.integers(0, N_ACTIONS, 50), rng.normal(size=50)
    one, many, late = build("lin-full-post"), build("lin-full-post"), build("lin-full-post")
    for row in range(50):
        one.learn(X[row], int(actions[row]), float(rewards[row]))
    report = many.learn(X, actions, rewards)
    assert (report.minibatches, report.mean_loss, report.interventions) == (0, None, 0)
    late.partial_fit(X[:30], actions[:30], rewards[:30], rounds=np.arange(20, 50)).partial_fit(
        X[30:], actions[30:], rewards[30:], rounds=np.arange(20), weights=np.ones(20)
    )
    for other in (one, late):
        np.testing.assert_allclose(many.sample_rewards(X, round=9), other.sample_rewards(X, round=9), rtol=1e-6)
    assert (one.next_round, many.next_round, late.next_round, late.n_observed) == (50, 50, 50, 50)


def test_training_can_be_left_to_the_caller() -> None:
    X, rng = contexts(60), np.random.default_rng(1)
    actions, rewards = rng.integers(0, N_ACTIONS, 60), rng.normal(size=60)
    small = {"train_every": 20, "minibatches": 3, "n_features": N_FEATURES, "n_actions": N_ACTIONS, "seed": 7}
    manual, automatic = lb.LuGauss(training="manual", **small), lb.LuGauss(**small)
    for row in range(60):
        outcome = (X[row], int(actions[row]), float(rewards[row]))
        assert manual.learn(*outcome).minibatches == 0
        assert manual.train() == automatic.learn(*outcome)
        assert automatic.train().minibatches == 0
    np.testing.assert_array_equal(manual.sample_rewards(X, round=9), automatic.sample_rewards(X, round=9))


@pytest.mark.parametrize("policy_id", IDS)
def test_actions_come_and_go(policy_id: str) -> None:
    policy = build(policy_id)
    X = contexts(40)
    for x in X:
        policy.learn(x, policy.choose(x).action, 1.0)
    before = policy.to_bytes()
    snapshot = policy.snapshot()
    policy.retire_action(1)
    policy.retire_action(np.int64(1))
    assert policy.retired_actions == [1]
    assert lb.load(policy.to_bytes()).retired_actions == [1]
    assert (policy.predict_proba(X)[:, 1] == 0).all()
    policy.restore_action(1)
    assert policy.retired_actions == [] and policy.to_bytes() == before

    assert policy.add_action() == N_ACTIONS
    assert policy.n_actions == policy.get_params()["n_actions"] == N_ACTIONS + 1
    assert policy.predict_proba(X).shape == (40, N_ACTIONS + 1)
    assert snapshot.predict_proba(X).shape == (40, N_ACTIONS)
    assert policy.choose(X[0], allowed=[False] * N_ACTIONS + [True]).action == N_ACTIONS
    policy.learn(X[0], N_ACTIONS, 2.0)
    for other in (lb.load(policy.to_bytes()), pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert other.n_actions == N_ACTIONS + 1
        assert other.choose_many(X)[0].tolist() == policy.choose_many(X, rounds=range(41, 81))[0].tolist()


def test_wrong_actions_are_not_retired() -> None:
    policy = build("lin-ucb")
    before = policy.to_bytes()
    for action in (3, -1, 1.5, "0", None, 2**70):
        for call in (policy.retire_action, policy.restore_action):
            with pytest.raises(ValueError, match="action is .*0 to 2"):
                call(action)
    assert policy.to_bytes() == before
    for action in range(N_ACTIONS):
        policy.retire_action(action)
    with pytest.raises(ValueError, match="all 3 actions are retired"):
        policy.choose(contexts(1)[0])
    assert repr(policy) == f"Policy(policy='lin-ucb[]', n_features={N_FEATURES}, n_actions=3, seed=7)"
    assert policy.add_action() == 3 and policy.choose(contexts(1)[0]).action == 3
    assert "n_actions=4" in repr(policy)


def test_the_counter_continues_after_rounds_that_were_given() -> None:
    policy, x = build("lin-full-post"), contexts(1)[0]
    assert policy.choose(x, round=10).round == 10
    assert policy.choose(x).round == 11
    policy.choose_many([x, x], rounds=[30, 20])
    assert policy.choose(x).round == 31
    policy.learn(x, 1, 0.5, rounds=50)
    assert policy.choose(x, round=3).round == 3 and policy.next_round == 51
    for call in (lambda: policy.choose([np.nan] * 5), lambda: policy.choose_many([[np.nan] * 5] * 4)):
        with pytest.raises(ValueError, match="NaN"):
            call()
    assert policy.next_round == 51, "decisions that fail use no round"


def test_a_snapshot_shares_the_counter_and_does_not_learn() -> None:
    policy = trained("lin-full-post")
    snapshot = policy.snapshot()
    assert (snapshot.name, snapshot.n_features, snapshot.n_actions) == (policy.name, N_FEATURES, N_ACTIONS)
    X = contexts(10, seed=5)
    before = snapshot.predict_proba(X)
    np.testing.assert_array_equal(before, policy.predict_proba(X))
    rounds = [snapshot.choose(X[0]).round, policy.choose(X[0]).round]
    snapshot.choose_many(X)
    assert rounds == [40, 41] and policy.next_round == snapshot.next_round == 52
    policy.learn(X, [0] * 10, [5.0] * 10)
    # The next round, from which auxiliary numbers are drawn, has moved.
    for x in X:
        assert snapshot.choose(x, round=7) == snapshot.choose(x, round=7)
    assert not np.array_equal(policy.sample_rewards(X, round=3), snapshot.sample_rewards(X, round=3))
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(snapshot)


def test_threads_decide_while_one_learns() -> None:
    policy = trained("neural-linear")
    X = contexts(200, seed=6)
    seen: list[int] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def decide(snapshot: lb.Snapshot) -> None:
        try:
            rounds = [snapshot.choose(x).round for x in X]
            actions, _ = snapshot.choose_many(X)
            assert set(actions.tolist()) <= set(range(N_ACTIONS))
            seen.extend(rounds)
        except BaseException as error:
            failures.append(error)

    def learn() -> None:
        try:
            while not done.is_set():
                policy.learn(X, np.zeros(len(X), np.int64), np.ones(len(X)))
        except BaseException as error:
            failures.append(error)

    first = policy.next_round
    learner = threading.Thread(target=learn)
    deciders = [threading.Thread(target=decide, args=(policy.snapshot(),)) for _ in range(4)]
    learner.start()
    for thread in deciders:
        thread.start()
    for thread in deciders:
        thread.join()
    done.set()
    learner.join()
    assert not failures
    assert len(set(seen)) == len(seen) == 800 and min(seen) >= first, "no round is used twice"


def test_the_interpreter_runs_while_a_policy_computes() -> None:
    policy = lb.Policy("lin-full-post", n_features=50, n_actions=5, seed=0)
    X = np.random.default_rng(0).normal(size=(500, 50))
    actions, rewards = np.arange(500) % 5, X[:, 0].copy()
    snapshot = policy.snapshot()
    # With this interval Python gives its lock away only where a call releases it.
    switch = sys.getswitchinterval()
    sys.setswitchinterval(600.0)
    try:
        for call in (
            lambda: policy.learn(X, actions, rewards),
            lambda: policy.choose(X[0]),
            lambda: policy.choose_many(X),
            lambda: policy.predict(X),
            lambda: policy.predict_proba(X),
            lambda: policy.sample_rewards(X),
            lambda: policy.to_bytes(),
            lambda: snapshot.choose_many(X),
        ):
            go, ran = threading.Event(), threading.Event()

            def other(go: threading.Event = go, ran: threading.Event = ran) -> None:
                go.wait()
                ran.set()

            thread = threading.Thread(target=other)
            thread.start()
            go.set()
            # A busy machine may need several calls before it runs the other thread.
            for _ in range(100_000):
                call()
                if ran.is_set():
                    break
            assert ran.is_set()
            thread.join()
    finally:
        sys.setswitchinterval(switch)


def test_classes_show_every_setting() -> None:
    for info in lb.policies():
        cls = getattr(lb, "".join(part.capitalize() for part in info["id"].split("-")))
        parameters = inspect.signature(cls).parameters
        for setting in info["settings"]:
            assert setting["key"] in parameters
            assert f"\n{setting['key']} : " in (cls.__doc__ or "") and setting["doc"].rstrip(".") in cls.__doc__
        for preset in info["presets"]:
            policy = cls(n_features=2, n_actions=2, preset=preset)
            expected = info["id"] if preset == info["presets"][0] else f"{info['id']}@{preset}"
            assert policy.name == expected
        # Each value that a preset has can be given as a keyword.
        typed = {setting["key"]: setting["defaults"][info["presets"][0]] for setting in info["settings"]}
        assert cls(n_features=2, n_actions=2, **typed).name == info["id"]
    output = io.StringIO()
    pydoc.doc(lb.LuGauss, output=output)
    assert "latent_dim" in output.getvalue()


def test_settings_take_values_of_python() -> None:
    policy = lb.LuGauss(
        n_features=np.int64(4), n_actions=2, decoder_layers=(20, 10), floor=np.float64(0.1), replay_capacity="all"
    )
    assert policy.name == "lu-gauss[decoder_layers=20x10,floor=0.1]"
    assert lb.NeuralLinear(n_features=4, n_actions=2, hidden_layers=[]).name == "neural-linear[hidden_layers=none]"
    switches = [
        (info["id"], setting["key"])
        for info in lb.policies()
        for setting in info["settings"]
        if setting["expected"] == "one of `on` `off`"
    ]
    assert switches
    for policy_id, key in switches:
        cls = getattr(lb, "".join(part.capitalize() for part in policy_id.split("-")))
        names = {cls(n_features=2, n_actions=2, **{key: value}).name for value in (True, False)}
        assert len(names) == 2


def test_scikit_learn_clones_a_policy() -> None:
    base = pytest.importorskip("sklearn.base")
    policy = lb.LuGauss(n_features=3, n_actions=2, seed=5, preset="paper", decoder_layers=[8])
    other = base.clone(policy)
    assert other.get_params() == policy.get_params() and other.name == policy.name
    assert base.clone(lb.Policy("lin-ucb", n_features=3, n_actions=2)).name == "lin-ucb"
    assert policy.set_params(random_state=9, floor=0.2) is policy
    assert (policy.seed, policy.name) == (9, "lu-gauss@paper[decoder_layers=8,floor=0.2]")
    assert lb.LinUcb(n_features=2, n_actions=2, random_state=3).seed == 3
    policy.learn([1.0, 2.0, 3.0], 1, 1.0)
    with pytest.raises(ValueError, match="would discard"):
        policy.set_params(floor=0.1)
    with pytest.raises(ValueError, match="has no parameter 'flor'"):
        other.set_params(flor=0.1)
    with pytest.raises(ValueError, match="give one of them"):
        lb.LinUcb(n_features=2, n_actions=2, seed=1, random_state=3)
    assert repr(other) == (
        "LuGauss(n_features=3, n_actions=2, seed=5, preset='paper', decoder_layers=[8])"
    )


def test_joblib_dumps_a_policy(tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    policy = trained("locus")
    joblib.dump(policy, tmp_path / "p.joblib")
    assert joblib.load(tmp_path / "p.joblib").to_bytes() == policy.to_bytes()


def test_errors_are_those_of_python(tmp_path: Path) -> None:
    policy = build("lin-full-post")
    x = contexts(1)[0]
    before = policy.to_bytes()
    for message, call in {
        "context has 2 features but the policy was built for 5": lambda: policy.choose(x[:2]),
        "feature 1 of the context is NaN": lambda: policy.choose([0, np.nan, 0, 0, 0]),
        "feature 0 of the context is inf": lambda: policy.choose([1e300, 0, 0, 0, 0]),
        "expected one dimension": lambda: policy.choose(x[None, :]),
        "expected two dimensions": lambda: policy.choose_many(x),
        "encode text and dates": lambda: policy.choose(["a"] * 5),
        "expected bool": lambda: policy.choose(x, allowed=[1, 1, 1]),
        "the mask of allowed actions has 2 entries": lambda: policy.choose(x, allowed=[True, True]),
        "allows none of the 3 actions": lambda: policy.choose(x, allowed=[False] * 3),
        "actions have dtype float64": lambda: policy.learn(x, 1.5, 1.0),
        "action is 3 but": lambda: policy.learn(x, 3, 1.0),
        "actions hold -1": lambda: policy.learn(x, -1, 1.0),
        "reward is NaN": lambda: policy.learn(x, 1, np.nan),
        "outcome 1: reward is inf": lambda: policy.learn([x, x], [0, 1], [1.0, np.inf]),
        "actions have shape": lambda: policy.learn([x, x], [0], [1.0, 2.0]),
        "weight is 0": lambda: policy.learn(x, 0, 1.0, weights=0.0),
        "rounds have shape": lambda: policy.choose_many([x, x], rounds=[1]),
        "no policy is called `lu-gaus`": lambda: lb.Policy("lu-gaus", n_features=2, n_actions=2),
        "n_features is 0": lambda: lb.LinUcb(n_features=0, n_actions=2),
        "n_actions is 2.5": lambda: lb.LinUcb(n_features=2, n_actions=2.5),
        "seed is -1": lambda: lb.LinUcb(n_features=2, n_actions=2, seed=-1),
        "`floor` is `2`, expected": lambda: lb.LinUcb(n_features=2, n_actions=2, floor=2),
        "not a saved policy": lambda: lb.load(b"something else"),
        "has no reward model": lambda: lb.Uniform(n_features=2, n_actions=2).sample_rewards([[1.0, 2.0]]),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
    assert policy.to_bytes() == before, "bad input changes nothing"
    with pytest.raises(FileNotFoundError):
        lb.load(tmp_path / "missing.locus")
    with pytest.raises(TypeError):
        lb.LinUcb(n_features=2, n_actions=2, florr=2)
    damaged = bytearray(before)
    damaged[40] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        lb.load(bytes(damaged))
    assert issubclass(lb.NumericError, ArithmeticError)


def test_masked_values_are_refused_and_pandas_types_taken() -> None:
    pandas = pytest.importorskip("pandas")
    policy = trained("lin-full-post")
    x = contexts(1)[0].astype(np.float64)
    masked = np.ma.masked_array(x, mask=[False, True, False, False, False])
    for call in (
        lambda: policy.choose(masked),
        lambda: policy.choose_many(masked[None, :]),
        lambda: policy.learn(masked, 1, 1.0),
        lambda: policy.learn([x, x], np.ma.masked_array([0, 1], mask=[True, False]), [1.0, 2.0]),
        lambda: policy.choose(x, allowed=np.ma.masked_array([True] * 3, mask=[True, False, False])),
    ):
        with pytest.raises(ValueError, match="masked"):
            call()
    assert policy.choose(np.ma.masked_array(x), round=70) == policy.choose(x, round=70)
    frame = pandas.DataFrame([x]).astype({1: "Float64", 2: "float32"})
    frame[3] = True
    expected = policy.predict_proba([[x[0], x[1], x[2], 1.0, x[4]]])
    np.testing.assert_array_equal(policy.predict_proba(frame), expected)
    frame.loc[0, 1] = pandas.NA
    with pytest.raises(ValueError, match="feature 1 of the context is NaN"):
        policy.predict_proba(frame)
    with pytest.raises(ValueError, match="expected numbers"):
        policy.choose([x[0], "1", x[2], x[3], x[4]])
    for reward in (np.complex128(1 + 2j), np.timedelta64(3, "s")):
        with pytest.raises(ValueError, match="expected numbers"):
            policy.learn(x, 1, reward)


def test_small_objects_and_attributes_can_be_pickled() -> None:
    policy = trained("lin-ucb")
    decision, report = policy.choose(contexts(1)[0]), policy.learn(contexts(1)[0], 0, 1.0)
    for value in (decision, report):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert len({decision, copy.copy(decision)}) == 1
    policy.note = "kept"  # type: ignore[attr-defined]
    assert copy.deepcopy(policy).note == pickle.loads(pickle.dumps(policy)).note == "kept"  # type: ignore[attr-defined]


def test_saving_keeps_modes_and_links(tmp_path: Path) -> None:
    policy, path = build("lin-ucb"), tmp_path / "p.locus"
    mask = os.umask(0o022)
    try:
        policy.save(path)
        assert path.stat().st_mode & 0o777 == 0o644
        path.chmod(0o664)
        (tmp_path / "link").symlink_to(path)
        policy.save(tmp_path / "link")
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o664 and (tmp_path / "link").is_symlink()
    assert lb.load(tmp_path / "link").name == "lin-ucb"


def test_rounds_are_never_used_twice_by_mistake() -> None:
    policy, x = build("lin-ucb"), contexts(1)[0]
    snapshot = policy.snapshot()
    assert [policy.choose(x).round, policy.choose(x).round] == [0, 1]
    policy.set_params(seed=1)
    assert snapshot.choose(x).round == 2
    for call in (
        lambda: policy.choose(x, round=2**63),
        lambda: policy.choose(x, round=-1),
        lambda: policy.choose(x, round=1.5),  # type: ignore[arg-type]
        lambda: policy.choose_many([x], rounds=np.array([2**64 - 1], np.uint64)),
        lambda: policy.learn(x, 1, 1.0, rounds=2**63),
        lambda: policy.sample_rewards([x], round=-1),
    ):
        with pytest.raises(ValueError, match="round is|rounds h"):
            call()
    assert policy.choose(x, round=2**63 - 1).round == 2**63 - 1
    assert policy.choose(x).round == 2**63


def test_settings_that_are_none_are_refused() -> None:
    for settings in ({"decoder_layers": [8.7]}, {"initial": "uniform,floor=0.3"}, {"decoder_layers": np.array([2.5])}):
        with pytest.raises(ValueError, match="expected"):
            lb.LuGauss(n_features=2, n_actions=2, **settings)
    assert lb.LuGauss(n_features=2, n_actions=2, decoder_layers=np.array([8, 4])).name.endswith("[decoder_layers=8x4]")
    with pytest.raises(ValueError, match="give one of them"):
        lb.LinUcb(n_features=2, n_actions=2).set_params(seed=1, random_state=2)
    with pytest.raises(TypeError, match=r"LinUcb.__init__\(\)"):
        lb.LinUcb(2, 2)


def test_numbers_that_overflow_are_numeric_errors() -> None:
    policy = lb.Policy("neural-linear[minibatches=2,train_every=10]", n_features=2, n_actions=2, seed=0)
    with pytest.raises(lb.NumericError, match="the model was restored"):
        policy.learn([[1e19, 1.0]] * 10, [0, 1] * 5, [3e38, -3e38] * 5)
    assert policy.n_observed == 10
    assert policy.choose([1.0, 1.0]).action in (0, 1)


def test_an_object_that_was_not_initialized_says_so() -> None:
    class Careless(lb.Policy):
        def __init__(self) -> None:
            pass

    with pytest.raises(RuntimeError, match="not initialized"):
        Careless().choose([1.0])


def test_a_file_of_rust_is_read(tmp_path: Path) -> None:
    saved = Path(__file__).parents[2] / "crates/locus/tests/saved/format-2-lin-full-post.locus"
    policy = lb.load(saved)
    assert (policy.name, policy.n_observed, policy.next_round) == ("lin-full-post", 30, 30)


def test_stubs_are_those_of_the_table_of_settings() -> None:
    folder = Path(__file__).parents[1]
    text = runpy.run_path(str(folder / "write_stubs.py"))["stub"]()
    assert text == (folder / "locus_bandits/_policies.pyi").read_text(encoding="utf-8"), "run write_stubs.py"


def described(policy_id: str = "lin-full-post", **settings: object) -> lb.Policy:
    text = ",".join(f"{key}={value}" for key, value in settings.items())
    return lb.Policy(f"{policy_id}[{text}]", n_features=N_FEATURES, n_action_features=2, seed=7)


def test_actions_with_features_are_chosen_and_learned(tmp_path: Path) -> None:
    policy, rng = described(interactions="only"), np.random.default_rng(3)
    assert (policy.n_features, policy.n_actions, policy.n_action_features) == (N_FEATURES, 0, 2)
    one_hot = np.eye(2)
    for _ in range(300):
        x, candidates = rng.normal(size=N_FEATURES), one_hot[rng.permutation(2)]
        decision = policy.choose(x, candidates=candidates)
        taken = candidates[decision.action]
        policy.learn(x, decision.action, x[0] if taken[0] == 1 else -x[0], action_features=taken)
    X = contexts(40, seed=5)
    best = np.where(X[:, 0] > 0, 0, 1)
    assert (policy.predict(X, candidates=one_hot) == best).mean() > 0.9
    # The same candidates in another order, for each context its own array.
    own = np.stack([one_hot[::-1]] * 40)
    assert (policy.predict(X, candidates=own) == 1 - best).mean() > 0.9
    policy.save(tmp_path / "p.locus")
    other = lb.load(tmp_path / "p.locus")
    assert (other.n_action_features, other.get_params()["n_actions"]) == (2, None)
    actions, propensities = policy.choose_many(X, candidates=one_hot)
    np.testing.assert_array_equal(other.choose_many(X, candidates=list(own[:, ::-1]))[0], actions)
    assert ((propensities > 0) & (propensities <= 1)).all()
    probabilities = policy.predict_proba(X, candidates=own)
    assert probabilities.shape == (40, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    rows = np.hstack([X, np.tile(one_hot[0], (40, 1))])
    assert policy.sample_rewards(rows).shape == (40, 1)
    snapshot = policy.snapshot()
    assert (snapshot.n_actions, snapshot.n_action_features) == (0, 2)
    assert snapshot.choose(X[0], candidates=one_hot, round=900) == policy.choose(X[0], candidates=one_hot, round=900)


def test_requests_may_have_different_numbers_of_candidates() -> None:
    policy, X = described(), contexts(3)
    ragged = [np.ones((n, 2)) for n in (1, 4, 2)]
    actions, _ = policy.choose_many(X, candidates=ragged)
    assert (actions < [1, 4, 2]).all()
    for row, candidates in enumerate(ragged):
        assert policy.predict_proba(X[row : row + 1], candidates=candidates).shape == (1, len(candidates))
    with pytest.raises(ValueError, match="context 1 has 4 candidates and context 0 has 1"):
        policy.predict_proba(X, candidates=ragged)
    allowed = [False, True, False, False]
    assert policy.choose(X[0], candidates=ragged[1], allowed=allowed).action == 1


def test_wrong_candidates_are_errors() -> None:
    policy, numbered, x = described(), build("lin-full-post"), contexts(1)[0]
    for call, message in [
        (lambda: policy.choose(x), "candidates"),
        (lambda: policy.choose(x, candidates=np.ones((3, 3))), "9|features"),
        (lambda: policy.choose(x, candidates=np.ones(2)), r"has shape \(2,\), expected \(candidates, features\)"),
        (lambda: policy.choose(x, candidates=[[1.0, np.nan]]), "NaN|finite"),
        (lambda: policy.choose_many([x, x], candidates=[np.ones((1, 2)), np.ones((2, 2)), np.ones((1, 2))]), "3 lists"),
        (lambda: policy.choose_many([x, x], candidates=np.zeros((2, 0, 2))), "candidates"),
        (lambda: policy.choose_many([x], candidates=np.zeros((1, 0, 2))), "candidates"),
        (lambda: policy.learn(x, 0, 1.0), "features"),
        (lambda: policy.learn(x, 0, 1.0, action_features=np.ones((2, 2))), r"has shape \(2, 2\)"),
        (lambda: numbered.choose(x, candidates=np.ones((2, 2))), "candidates"),
        (lambda: numbered.learn(x, 0, 1.0, action_features=[1.0, 2.0]), "features"),
        (lambda: lb.Policy("lin-full-post", n_features=3), "neither of n_actions and n_action_features"),
        (lambda: lb.Policy("lin-full-post", n_features=3, n_actions=2, n_action_features=2), "both of n_actions"),
        (lambda: lb.Policy("bbb", n_features=3, n_action_features=2), "does not support actions with features"),
        (lambda: policy.add_action(), "actions"),
    ]:
        with pytest.raises((ValueError, NotImplementedError, RuntimeError), match=message):
            call()
    assert policy.n_observed == numbered.n_observed == 0
