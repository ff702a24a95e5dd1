"""What people use today for contextual bandits, one thin class per library, as policies for `locus_bandits.bench`.

Each class is called with `n_features`, `n_actions` and `seed`. It imports its library when it is called, so one peer can run without
the others. README.md says how the settings were chosen.
"""

import numpy as np

# The linear peers first play each action this often, in turn, as our policies do.
INITIAL_PULLS = 2

# The range of rewards by (n_features, n_actions), only for Vowpal Wabbit, which needs bounded costs. The problems of the paper differ
# in their shapes. Rewards outside the range are clipped; those of Financial have no bounds.
REWARD_RANGES = {
    (117, 2): (-35.0, 5.0),  # mushroom
    (21, 8): (-5.0, 5.0),  # financial
    (9, 7): (0.0, 1.0),  # statlog
    (32, 8): (-10.0, 10.0),  # jester
    (2, 5): (0.0, 50.0),  # wheel
    (54, 7): (0.0, 1.0),  # covertype
    (94, 14): (0.0, 1.0),  # adult
    (383, 9): (0.0, 1.0),  # census-10k
    (389, 9): (0.0, 1.0),  # census
}


def with_intercept(context):
    """One row with a constant 1 at its end, in double precision."""
    row = np.ones((1, context.size + 1))
    row[0, :-1] = context
    return row


class VowpalWabbit:
    """`vowpalwabbit.Workspace`: `predict` gives the probabilities of the actions, `learn` takes the cost of the chosen one.

    - Examples are text, VW's documented input. The context is the shared namespace `s`, an action is one indicator in namespace `a`.
      Features that are 0 are left out.
    - `-q sa` pairs context and action, which gives every action a linear model of its own; `--ignore_linear s` drops the context's
      own weights, which are the same for all actions.
    - `--cb_type mtr` is VW's default reduction, named because the comparison depends on it.
    - The cost is −(reward scaled to [0, 1]), with `--cb_min_cost -1 --cb_max_cost 0` to match.
    - Learning rate and all else: VW's defaults.
    """

    options = ""

    def __init__(self, n_features, n_actions, seed):
        from vowpalwabbit import Workspace

        self.low, self.high = REWARD_RANGES[n_features, n_actions]
        common = "--cb_explore_adf --cb_type mtr -q sa --ignore_linear s --cb_min_cost -1 --cb_max_cost 0 --quiet"
        self.workspace = Workspace(f"{common} --random_seed {seed} {self.options}")
        self.rng = np.random.default_rng(seed)
        self.names = [f"s{i}" for i in range(n_features)]
        self.actions = [f"|a a{i}" for i in range(n_actions)]

    def choose(self, round, context):
        features = " ".join([f"{name}:{value:.6g}" for name, value in zip(self.names, context.tolist()) if value])
        self.lines = [f"shared |s {features}", *self.actions]
        probabilities = np.array(self.workspace.predict(self.lines))
        cumulative = probabilities.cumsum()
        action = int(cumulative.searchsorted(self.rng.random() * cumulative[-1], side="right"))
        self.propensity = probabilities[action]
        return action

    def learn(self, round, context, action, reward):
        scaled = (min(max(reward, self.low), self.high) - self.low) / (self.high - self.low)
        # The label stands before the features of the action that it belongs to; the rest is the example of `choose`.
        self.lines[1 + action] = f"0:{-scaled:.6g}:{self.propensity:.6g} {self.lines[1 + action]}"
        self.workspace.learn(self.lines)


class VwSquareCb(VowpalWabbit):
    """VW with `--squarecb`: exploration by inverse gap weighting on the predicted costs, with VW's default γ."""

    options = "--squarecb"


class VwBag(VowpalWabbit):
    """VW with `--bag 10 --greedify --coin`: ten bootstrapped models vote.

    `--greedify` always updates the first model once. `--coin` is VW's optimizer without a learning rate: with VW's default optimizer
    the mean regret is about 6 higher, most of it on Wheel. For SquareCB the default optimizer is the better one.
    """

    options = "--bag 10 --greedify --coin"


class ContextualbanditsLinUcb:
    """`contextualbandits.online.LinUCB`: `predict` and `partial_fit`, one row at a time.

    Defaults: α = 1, λ = 1, with an intercept, updates by Sherman–Morrison. The library recommends a smaller α; α = 0.1 is better on
    six problems, but has four times the regret on Wheel, so that its mean regret is higher. `ucb_from_empty` does not matter after
    the initial pulls.
    """

    def __init__(self, n_features, n_actions, seed):
        from contextualbandits.online import LinUCB

        self.n_actions = n_actions
        self.model = LinUCB(n_actions, alpha=1.0, lambda_=1.0, fit_intercept=True, random_state=seed, njobs=1)

    def choose(self, round, context):
        if round < INITIAL_PULLS * self.n_actions:
            return round % self.n_actions
        return int(self.model.predict(context.reshape(1, -1).astype(np.float64))[0])

    def learn(self, round, context, action, reward):
        self.model.partial_fit(
            context.reshape(1, -1).astype(np.float64), np.array([action]), np.array([reward], dtype=np.float64)
        )


class MabwiserLinTs:
    """`mabwiser.mab.MAB` with `LearningPolicy.LinTS(alpha=0.1)`: `predict` and `partial_fit`.

    α = 0.1 instead of the default 1 scales the posterior down: the library assumes noise of variance 1, far too much for rewards
    of 0 and 1. λ = 1 is the default. The intercept is a constant feature.
    """

    def __init__(self, n_features, n_actions, seed):
        from mabwiser.mab import MAB, LearningPolicy

        self.n_actions = n_actions
        self.model = MAB(list(range(n_actions)), LearningPolicy.LinTS(alpha=0.1, l2_lambda=1), seed=seed)

    def choose(self, round, context):
        if round < INITIAL_PULLS * self.n_actions:
            return round % self.n_actions
        return int(self.model.predict(with_intercept(context)))

    def learn(self, round, context, action, reward):
        # The first call is a `fit`, which `partial_fit` does by itself.
        self.model.partial_fit([action], [reward], with_intercept(context))


class BayesianbanditsNig:
    """`bayesianbandits.ContextualAgent` with one `NormalInverseGammaRegressor` per arm and `ThompsonSampling`: `pull` and `update`.

    Defaults: prior precision 1, a = b = 0.1. The noise is learned, so rewards need no scale. The intercept is a constant feature.
    """

    def __init__(self, n_features, n_actions, seed):
        from bayesianbandits import Arm, ContextualAgent, NormalInverseGammaRegressor, ThompsonSampling

        self.n_actions = n_actions
        arms = [Arm(i, learner=NormalInverseGammaRegressor()) for i in range(n_actions)]
        self.agent = ContextualAgent(arms, ThompsonSampling(), random_seed=seed)

    def choose(self, round, context):
        if round < INITIAL_PULLS * self.n_actions:
            return round % self.n_actions
        return int(self.agent.pull(with_intercept(context))[0])

    def learn(self, round, context, action, reward):
        self.agent.select_for_update(action).update(with_intercept(context), np.array([reward]))


class RiverLinUcb:
    """`river.bandit.LinUCBDisjoint`: `pull` and `update`, with contexts as dicts, which leave zeros out.

    Defaults: α = β = 1. The intercept is a constant feature. The initial pulls are not left to the library's `burn_in`, because
    version 0.26.1 takes its number for a reward scaler and fails.
    """

    def __init__(self, n_features, n_actions, seed):
        from river.bandit import LinUCBDisjoint

        self.arms = list(range(n_actions))
        self.policy = LinUCBDisjoint(seed=seed)

    def choose(self, round, context):
        self.context = {i: value for i, value in enumerate(context.tolist()) if value}
        self.context["intercept"] = 1.0
        if round < INITIAL_PULLS * len(self.arms):
            return round % len(self.arms)
        return self.policy.pull(self.arms, context=self.context)

    def learn(self, round, context, action, reward):
        self.policy.update(action, self.context, reward)


class LightGbmEpsilon:
    """`lightgbm.train`: one boosted model of the reward from context and action, refitted on all rows, with ε-greedy exploration.

    LightGBM has no bandit; this is the usual way to make one. The action is one indicator column per action, because a categorical
    column has far more regret. 50 trees with 15 leaves, learning rate 0.1 (default), at least 5 rows a leaf. Actions are played in
    turn until the first fit, after 100 steps. The model is refitted every 100 steps; ε falls linearly from 0.1 to 0.01 until step 900.
    """

    settings = {
        "objective": "regression",
        "learning_rate": 0.1,
        "num_leaves": 15,
        "min_data_in_leaf": 5,
        "num_threads": 1,
        "verbose": -1,
    }
    refit_every = 100

    def __init__(self, n_features, n_actions, seed):
        self.n_actions = n_actions
        self.rng = np.random.default_rng(seed)
        self.indicators = np.eye(n_actions, dtype=np.float32)
        self.rows, self.rewards = [], []
        self.model = None
        self.candidates = np.hstack([np.zeros((n_actions, n_features), dtype=np.float32), self.indicators])

    def choose(self, round, context):
        if self.model is None:
            return round % self.n_actions
        if self.rng.random() < max(0.01, 0.1 * (1 - round / 1000)):
            return int(self.rng.integers(self.n_actions))
        self.candidates[:, : context.size] = context
        return int(self.model.predict(self.candidates, num_threads=1).argmax())

    def learn(self, round, context, action, reward):
        import lightgbm

        self.rows.append(np.concatenate([context, self.indicators[action]]))
        self.rewards.append(reward)
        if len(self.rows) % self.refit_every == 0:
            rows = lightgbm.Dataset(np.array(self.rows), np.array(self.rewards))
            self.model = lightgbm.train(self.settings, rows, num_boost_round=50)


# Policy names in records, their classes, and the distributions whose versions are recorded.
RIVALS = {
    "vw-squarecb": (VwSquareCb, "vowpalwabbit"),
    "vw-bag": (VwBag, "vowpalwabbit"),
    "contextualbandits-linucb": (ContextualbanditsLinUcb, "contextualbandits"),
    "mabwiser-lints": (MabwiserLinTs, "mabwiser"),
    "bayesianbandits-nig": (BayesianbanditsNig, "bayesianbandits"),
    "river-linucb": (RiverLinUcb, "river"),
    "lightgbm-epsilon": (LightGbmEpsilon, "lightgbm"),
}
