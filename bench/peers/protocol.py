"""What every worker of the comparison speaks: lines `KIND C REPS` in, a JSON list of REPS times out.

KIND is G (LU-Gauss), S (LU-SIVI) or N (LU-SIVI with the context repeated for every draw, as the authors' program does): one
training minibatch, in milliseconds. DG and DS: one decision, in microseconds. Shapes are those of preset `paper`.
"""

import json
import os
import sys
import time

# One thread each; read when a framework is loaded, so this module is imported first.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

ACTIONS = {2: 5, 22: 2, 54: 7, 117: 2, 389: 9}  # A of every C
BATCH, EXTRA_DRAWS, LATENT, NOISE_STD = 512, 50, 50, 2.0
PRIOR_STD, REWARD_STD, LEARNING_RATE = 1.25, 0.5, 1e-3
DECISIONS = 20  # timed together, since one is too short


def serve(build):
    """Answers until the input ends. `build(policy, C, A)` gives two functions: train on a minibatch, decide."""
    built = {}
    for line in sys.stdin:
        kind, n_features, reps = line.split()
        n_features, policy = int(n_features), kind[-1]
        if (policy, n_features) not in built:
            built[policy, n_features] = build(policy, n_features, ACTIONS[n_features])
        train, decide = built[policy, n_features]
        calls, run, unit = (DECISIONS, decide, 1e6) if kind[0] == "D" else (1, train, 1e3)
        times = []
        for _ in range(int(reps)):
            start = time.perf_counter()
            for _ in range(calls):
                run()
            times.append((time.perf_counter() - start) * unit / calls)
        print(json.dumps(times), flush=True)
