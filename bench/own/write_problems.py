#!/usr/bin/env python3
"""Writes problems that `locus` was not chosen on into a folder: tables that scikit-learn carries, as CSV files for --csv, and
simulated ones, as NPZ files for --npz. Needs NumPy, and scikit-learn for the tables; `bench/own/run` calls it."""

import csv
import pathlib
import sys

import numpy as np

STEPS = 2000


def write_tables(folder):
    """Digits (64 features, 10 classes), breast cancer (30, 2) and wine (13, 3), all without missing values."""
    from sklearn import datasets

    tables = {"digits": datasets.load_digits(), "breast-cancer": datasets.load_breast_cancer(), "wine": datasets.load_wine()}
    for name, table in tables.items():
        with open(folder / f"{name}.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow([f"x{i}" for i in range(table.data.shape[1])] + ["label"])
            for features, label in zip(table.data, table.target):
                rows.writerow(list(features) + [f"class{label}"])


def linear(contexts, rng, n_actions):
    coefficients = rng.normal(size=(contexts.shape[1], n_actions)) / np.sqrt(contexts.shape[1])
    return contexts @ coefficients


def bent(contexts, rng, n_actions):
    """A random net with one hidden layer of 30 sines: nothing of it is linear."""
    weights = rng.normal(size=(contexts.shape[1], 30)) * 2.0 / np.sqrt(contexts.shape[1])
    hidden = np.sin(contexts @ weights + rng.uniform(0, 2 * np.pi, 30))
    return hidden @ rng.normal(size=(30, n_actions)) / np.sqrt(15)


def write_simulated(folder):
    cases = [
        # name, features, actions, mean rewards, noise
        ("linear-c2-a2", 2, 2, linear, "gauss"),
        ("linear-c500-a2", 500, 2, linear, "gauss"),
        ("linear-c20-a50", 20, 50, linear, "gauss"),
        ("bent-c2-a5", 2, 5, bent, "gauss"),
        ("bent-c10-a5", 10, 5, bent, "gauss"),
        ("bent-c10-a50", 10, 50, bent, "gauss"),
        ("zero-one-c10-a5", 10, 5, bent, "zero-one"),
        ("heavy-tails-c10-a5", 10, 5, linear, "heavy"),
    ]
    for number, (name, n_features, n_actions, mean_of, noise) in enumerate(cases):
        rng = np.random.default_rng(number)
        contexts = rng.normal(size=(STEPS, n_features))
        means = mean_of(contexts, rng, n_actions)
        if noise == "gauss":
            rewards = means + 0.3 * rng.normal(size=means.shape)
        elif noise == "zero-one":
            means = 1 / (1 + np.exp(-3 * means))
            rewards = (rng.uniform(size=means.shape) < means).astype(float)
        else:
            rewards = means + 0.5 * rng.standard_t(2.1, size=means.shape)
        np.savez(
            folder / f"{name}.npz",
            contexts=contexts.astype(np.float32),
            rewards=rewards,
            optimal=means.max(axis=1),
        )


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    write_simulated(out)
    if "--no-tables" not in sys.argv:
        write_tables(out)
