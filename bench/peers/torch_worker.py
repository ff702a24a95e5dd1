"""LU-Gauss and LU-SIVI in PyTorch, as fast as eager PyTorch does them; see protocol.py."""

import math

from protocol import BATCH, EXTRA_DRAWS, LATENT, LEARNING_RATE, NOISE_STD, PRIOR_STD, REWARD_STD, serve

import torch
from torch import addmm, randn, relu

torch.set_num_threads(1)
# Tiny mixture weights make subnormal numbers, on which a step takes several times as long.
torch.set_flush_denormal(True)


def weights(n_in, n_out):
    return (randn(n_in, n_out) * math.sqrt(2 / (n_in + n_out))).requires_grad_(True)


def net(*sizes):
    """Weights and biases of one dense layer after another."""
    layers = zip(sizes, sizes[1:])
    return [part for pair in layers for part in (weights(*pair), torch.zeros(pair[1], requires_grad=True))]


def forward(x, layers):
    w1, b1, w2, b2 = layers
    return addmm(b2, relu(addmm(b1, x, w1)), w2)


class Gauss:
    def __init__(self, n_features):
        self.encoder = net(n_features, 100, 50)
        self.mean, self.log_std = net(50, 50, LATENT), net(50, 50, LATENT)
        self.parameters = self.encoder + self.mean + self.log_std

    def draw(self, x):
        hidden = relu(forward(x, self.encoder))
        log_std = forward(hidden, self.log_std)
        noise = randn(x.shape[0], LATENT)
        return forward(hidden, self.mean) + log_std.exp() * noise, noise, log_std

    def draw_and_log_q(self, x):
        z, noise, log_std = self.draw(x)
        return z, (-0.5 * noise * noise - log_std).sum(1)


class Sivi:
    def __init__(self, n_features, is_tiled):
        self.is_tiled = is_tiled
        sizes = [2 * n_features] if is_tiled else [n_features, n_features]
        self.first, self.bias = [weights(n, 100) for n in sizes], torch.zeros(100, requires_grad=True)
        self.second = net(100, LATENT)
        self.log_std = net(n_features, 50, LATENT)
        self.parameters = self.first + [self.bias] + self.second + self.log_std

    def psi(self, x, n_draws):
        """ψ of so many draws of noise for every row: [N, draws, H]."""
        n, n_features = x.shape
        if self.is_tiled:
            noise = NOISE_STD * randn(n, n_draws, n_features)
            inputs = torch.cat([x[:, None].expand(n, n_draws, n_features), noise], 2)
            hidden = relu(addmm(self.bias, inputs.view(n * n_draws, -1), self.first[0]))
        else:
            noise = NOISE_STD * randn(n * n_draws, n_features)
            shared = addmm(self.bias, x, self.first[0])
            hidden = relu((noise @ self.first[1]).view(n, n_draws, 100) + shared[:, None])
        return addmm(self.second[1], hidden.view(n * n_draws, 100), self.second[0]).view(n, n_draws, LATENT)

    def draw(self, x):
        std = forward(x, self.log_std).exp()
        return (self.psi(x, 1)[:, 0] + std * randn(x.shape[0], LATENT),)

    def draw_and_log_q(self, x):
        psi, log_std = self.psi(x, EXTRA_DRAWS + 1), forward(x, self.log_std)
        std = log_std.exp()
        z = psi[:, 0] + std * randn(x.shape[0], LATENT)
        deviations = (z[:, None] - psi) / std[:, None]
        log_sums = torch.logsumexp(-0.5 * (deviations * deviations).sum(2), 1)
        return z, log_sums - math.log(EXTRA_DRAWS + 1) - log_std.sum(1)


def build(policy, n_features, n_actions):
    latent = Gauss(n_features) if policy == "G" else Sivi(n_features, is_tiled=policy == "N")
    decoder = net(n_features + LATENT, 50, n_actions)
    log_reward_std = torch.full((n_actions,), math.log(REWARD_STD), requires_grad=True)
    log_prior_std = torch.full((1,), math.log(PRIOR_STD), requires_grad=True)
    parameters = latent.parameters + decoder + [log_reward_std, log_prior_std]
    adam = torch.optim.Adam(parameters, lr=LEARNING_RATE, fused=True)
    contexts, rewards = randn(BATCH, n_features), randn(BATCH, n_actions)
    is_played = torch.nn.functional.one_hot(torch.randint(n_actions, (BATCH,)), n_actions).float()
    context = contexts[:1].contiguous()

    def train():
        adam.zero_grad(set_to_none=True)
        z, log_q = latent.draw_and_log_q(contexts)
        means = forward(torch.cat([contexts, z], 1), decoder)
        deviations = (rewards - means) * torch.exp(-log_reward_std)
        log_likelihood = n_actions * (is_played * (-0.5 * deviations * deviations - log_reward_std)).sum(1)
        scaled = z * torch.exp(-log_prior_std)
        log_prior = (-0.5 * scaled * scaled - log_prior_std).sum(1)
        (-(log_likelihood + log_prior - log_q).mean()).backward()
        adam.step()

    @torch.inference_mode()
    def decide():
        z = latent.draw(context)[0]
        return int(forward(torch.cat([context, z], 1), decoder).argmax())

    return train, decide


serve(build)
