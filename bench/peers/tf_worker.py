"""LU-Gauss and LU-SIVI in TensorFlow, as a graph that is fed, which is what the authors use; see protocol.py."""

import math
import os

from protocol import BATCH, EXTRA_DRAWS, LATENT, LEARNING_RATE, NOISE_STD, PRIOR_STD, REWARD_STD, serve

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_v2_behavior()


def weights(n_in, n_out):
    return v1.Variable(v1.random_normal([n_in, n_out], stddev=math.sqrt(2 / (n_in + n_out))))


def zeros(n):
    return v1.Variable(tf.zeros([n]))


def net(*sizes):
    """Weights and biases of one dense layer after another."""
    return [part for pair in zip(sizes, sizes[1:]) for part in (weights(*pair), zeros(pair[1]))]


def forward(x, layers):
    w1, b1, w2, b2 = layers
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2


def gauss(x, n_features):
    """z in training and its log q, z of a decision."""
    encoder, mean, scale = net(n_features, 100, 50), net(50, 50, LATENT), net(50, 50, LATENT)
    hidden = tf.nn.relu(forward(x, encoder))
    log_std = forward(hidden, scale)
    noise = v1.random_normal([tf.shape(x)[0], LATENT])
    z = forward(hidden, mean) + tf.exp(log_std) * noise
    return z, tf.reduce_sum(-0.5 * noise * noise - log_std, 1), z


def sivi(x, n_features, is_tiled):
    """z in training and its log q, z of a decision."""
    n = tf.shape(x)[0]
    first = [weights(2 * n_features, 100)] if is_tiled else [weights(n_features, 100) for _ in range(2)]
    bias, second = zeros(100), net(100, LATENT)

    def psi(n_draws):
        if is_tiled:
            noise = NOISE_STD * v1.random_normal([n, n_draws, n_features])
            inputs = tf.concat([tf.tile(x[:, None], [1, n_draws, 1]), noise], 2)
            hidden = tf.nn.relu(tf.matmul(tf.reshape(inputs, [n * n_draws, 2 * n_features]), first[0]) + bias)
        else:
            noise = NOISE_STD * v1.random_normal([n * n_draws, n_features])
            shared = tf.matmul(x, first[0]) + bias
            hidden = tf.nn.relu(tf.reshape(tf.matmul(noise, first[1]), [n, n_draws, 100]) + shared[:, None])
            hidden = tf.reshape(hidden, [n * n_draws, 100])
        return tf.reshape(tf.matmul(hidden, second[0]) + second[1], [n, n_draws, LATENT])

    log_std = forward(x, net(n_features, 50, LATENT))
    std = tf.exp(log_std)
    draws = psi(EXTRA_DRAWS + 1)
    z = draws[:, 0] + std * v1.random_normal([n, LATENT])
    deviations = (z[:, None] - draws) / std[:, None]
    log_sums = tf.reduce_logsumexp(-0.5 * tf.reduce_sum(deviations * deviations, 2), 1)
    log_q = log_sums - math.log(EXTRA_DRAWS + 1) - tf.reduce_sum(log_std, 1)
    return z, log_q, psi(1)[:, 0] + std * v1.random_normal([n, LATENT])


def graph(policy, n_features, n_actions):
    x = v1.placeholder(tf.float32, [None, n_features])
    rewards, is_played = (v1.placeholder(tf.float32, [None, n_actions]) for _ in range(2))
    if policy == "G":
        z, log_q, z_to_decide = gauss(x, n_features)
    else:
        z, log_q, z_to_decide = sivi(x, n_features, is_tiled=policy == "N")
    decoder = net(n_features + LATENT, 50, n_actions)
    log_reward_std = v1.Variable(tf.fill([n_actions], math.log(REWARD_STD)))
    log_prior_std = v1.Variable(tf.fill([1], math.log(PRIOR_STD)))
    means = forward(tf.concat([x, z], 1), decoder)
    deviations = (rewards - means) * tf.exp(-log_reward_std)
    log_likelihood = n_actions * tf.reduce_sum(is_played * (-0.5 * deviations * deviations - log_reward_std), 1)
    scaled = z * tf.exp(-log_prior_std)
    log_prior = tf.reduce_sum(-0.5 * scaled * scaled - log_prior_std, 1)
    loss = -tf.reduce_mean(log_likelihood + log_prior - log_q)
    step = v1.train.AdamOptimizer(LEARNING_RATE).minimize(loss)
    action = tf.argmax(forward(tf.concat([x, z_to_decide], 1), decoder), 1)
    return (x, rewards, is_played), (step, loss), action


def build(policy, n_features, n_actions):
    random = np.random.default_rng(0)
    contexts, rewards = (random.standard_normal((BATCH, n), np.float32) for n in (n_features, n_actions))
    is_played = np.eye(n_actions, dtype=np.float32)[random.integers(0, n_actions, BATCH)]
    with tf.Graph().as_default():
        inputs, step, action = graph(policy, n_features, n_actions)
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        session = v1.Session(config=config)
        session.run(v1.global_variables_initializer())
        # A prepared call costs less than `session.run`.
        train = session.make_callable(list(step), list(inputs))
        decide = session.make_callable(action, [inputs[0]])
    context = contexts[:1]
    return lambda: train(contexts, rewards, is_played), lambda: decide(context)


serve(build)
