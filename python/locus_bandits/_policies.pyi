# Written by write_stubs.py from the library's table of settings.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._policy import BasePolicy, SettingInfo

__all__ = [
    "Uniform",
    "LinFullPost",
    "LinUcb",
    "LinPool",
    "NeuralLinear",
    "EpsilonGreedy",
    "Boltzmann",
    "ParamNoise",
    "Dropout",
    "Bootstrap",
    "NeuralUcb",
    "NeuralTs",
    "Bbb",
    "PiTsDgf",
    "Fbnn",
    "MultitaskGp",
    "LuGauss",
    "LuGaussAblation",
    "LuSivi",
    "LuSiviAblation",
    "Locus",
]

def class_name(policy_id: str) -> str: ...
def literal(words: Sequence[str]) -> str: ...
def annotation(setting: SettingInfo) -> str: ...

class Uniform(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["benchmark"] = "benchmark",
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LinFullPost(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["benchmark"] = "benchmark",
        prior_precision: float | None = None,
        prior_shape: float | None = None,
        prior_rate: float | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LinUcb(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["default"] = "default",
        alpha: float | None = None,
        prior_precision: float | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LinPool(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["default"] = "default",
        rescale_every: int | None = None,
        prior_precision: float | None = None,
        prior_shape: float | None = None,
        prior_rate: float | None = None,
        reward_unit_floor: float | None = None,
        tempering_steps: float | None = None,
        exploration: float | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class NeuralLinear(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["benchmark"] = "benchmark",
        prior_precision: float | None = None,
        prior_shape: float | None = None,
        prior_rate: float | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class EpsilonGreedy(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["default"] = "default",
        epsilon: float | None = None,
        epsilon_decay: float | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class Boltzmann(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["default"] = "default",
        temperature: float | None = None,
        temperature_unit: Literal["reward-std", "reward"] | None = None,
        cooling: Literal["logarithmic", "none"] | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class ParamNoise(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["benchmark"] = "benchmark",
        noise_std: float | None = None,
        noise_factor: float | None = None,
        target_epsilon: float | None = None,
        target_decay: float | None = None,
        divergence_contexts: int | None = None,
        propensity_draws: int | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class Dropout(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["benchmark"] = "benchmark",
        keep_probability: float | None = None,
        propensity_draws: int | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class Bootstrap(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["benchmark"] = "benchmark",
        nets: int | None = None,
        inclusion_probability: float | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class NeuralUcb(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["diagonal", "full"] = "diagonal",
        exploration: float | None = None,
        prior_precision: float | None = None,
        precision_matrix: Literal["diagonal", "full"] | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class NeuralTs(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["diagonal", "full"] = "diagonal",
        exploration: float | None = None,
        prior_precision: float | None = None,
        precision_matrix: Literal["diagonal", "full"] | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        initial_weights: float | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        max_gradient_norm: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class Bbb(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["authors"] = "authors",
        layers: Sequence[int] | str | None = None,
        noise_std: float | None = None,
        prior_gain: float | None = None,
        initial_mean_std: float | None = None,
        initial_log_std: float | None = None,
        initial_log_std_spread: float | None = None,
        variance_floor: float | None = None,
        learning_rate: float | None = None,
        reward_scaling: bool | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class PiTsDgf(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["authors", "stein"] = "authors",
        particles: int | None = None,
        hidden_units: int | None = None,
        prior_precision: float | None = None,
        reward_precision: float | None = None,
        likelihood_scale: Literal["minibatch", "all"] | None = None,
        force: Literal["wasserstein", "stein"] | None = None,
        force_weight: float | None = None,
        step_size: float | None = None,
        step_epsilon: float | None = None,
        step_memory: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class Fbnn(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["1x50", "2x50", "3x50", "1x500", "2x500", "3x500"] = "1x50",
        layers: Sequence[int] | str | None = None,
        samples: int | None = None,
        random_points: int | None = None,
        injected_noise: float | None = None,
        eigen_mass: float | None = None,
        likelihood_scale: Literal["minibatch", "all"] | None = None,
        initial_mean_std: float | None = None,
        initial_log_std: float | None = None,
        initial_log_std_spread: float | None = None,
        initial_noise: float | None = None,
        learning_rate: float | None = None,
        max_gradient: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        prior_task_dim: int | None = None,
        prior_noise: float | None = None,
        prior_amplitude: float | None = None,
        prior_linear_amplitude: float | None = None,
        prior_length: float | None = None,
        prior_task_std: float | None = None,
        prior_learning_rate: float | None = None,
        prior_batch_size: int | None = None,
        prior_minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class MultitaskGp(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["default"] = "default",
        task_dim: int | None = None,
        initial_noise: float | None = None,
        initial_amplitude: float | None = None,
        initial_linear_amplitude: float | None = None,
        initial_length: float | None = None,
        initial_task_std: float | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        minibatches: int | None = None,
        train_every: int | None = None,
        replay_capacity: int | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LuGauss(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["authors", "paper"] = "authors",
        latent_dim: int | None = None,
        encoder_layers: Sequence[int] | str | None = None,
        head_layers: Sequence[int] | str | None = None,
        decoder_layers: Sequence[int] | str | None = None,
        learning_rate: float | None = None,
        prior_std: float | None = None,
        latent_input: Literal["context", "ones"] | None = None,
        kl_weight: Literal["one", "per-observation"] | None = None,
        kl_warmup_rounds: int | None = None,
        latent_std_link: Literal["exp", "exp-half"] | None = None,
        reward_std: float | None = None,
        reward_std_spread: float | None = None,
        reward_std_scale: Literal["log", "linear"] | None = None,
        reward_std_floor: float | None = None,
        learn_prior_std: bool | None = None,
        reward_scaling: bool | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LuGaussAblation(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["authors", "paper"] = "authors",
        latent_dim: int | None = None,
        encoder_layers: Sequence[int] | str | None = None,
        head_layers: Sequence[int] | str | None = None,
        decoder_layers: Sequence[int] | str | None = None,
        learning_rate: float | None = None,
        prior_std: float | None = None,
        latent_input: Literal["context", "ones"] | None = None,
        kl_weight: Literal["one", "per-observation"] | None = None,
        kl_warmup_rounds: int | None = None,
        latent_std_link: Literal["exp", "exp-half"] | None = None,
        reward_std: float | None = None,
        reward_std_spread: float | None = None,
        reward_std_scale: Literal["log", "linear"] | None = None,
        reward_std_floor: float | None = None,
        learn_prior_std: bool | None = None,
        reward_scaling: bool | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LuSivi(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["authors", "paper"] = "authors",
        latent_dim: int | None = None,
        psi_layers: Sequence[int] | str | None = None,
        scale_layers: Sequence[int] | str | None = None,
        decoder_layers: Sequence[int] | str | None = None,
        extra_draws: int | None = None,
        noise_std: float | None = None,
        low_rank_noise: bool | None = None,
        learning_rate: float | None = None,
        prior_std: float | None = None,
        latent_input: Literal["context", "ones"] | None = None,
        kl_weight: Literal["one", "per-observation"] | None = None,
        kl_warmup_rounds: int | None = None,
        latent_std_link: Literal["exp", "exp-half"] | None = None,
        reward_std: float | None = None,
        reward_std_spread: float | None = None,
        reward_std_scale: Literal["log", "linear"] | None = None,
        reward_std_floor: float | None = None,
        learn_prior_std: bool | None = None,
        reward_scaling: bool | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class LuSiviAblation(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["authors", "paper"] = "authors",
        latent_dim: int | None = None,
        psi_layers: Sequence[int] | str | None = None,
        scale_layers: Sequence[int] | str | None = None,
        decoder_layers: Sequence[int] | str | None = None,
        extra_draws: int | None = None,
        noise_std: float | None = None,
        low_rank_noise: bool | None = None,
        learning_rate: float | None = None,
        prior_std: float | None = None,
        latent_input: Literal["context", "ones"] | None = None,
        kl_weight: Literal["one", "per-observation"] | None = None,
        kl_warmup_rounds: int | None = None,
        latent_std_link: Literal["exp", "exp-half"] | None = None,
        reward_std: float | None = None,
        reward_std_spread: float | None = None,
        reward_std_scale: Literal["log", "linear"] | None = None,
        reward_std_floor: float | None = None,
        learn_prior_std: bool | None = None,
        reward_scaling: bool | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        propensity_draws: int | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...

class Locus(BasePolicy):
    policy_id: str
    def __init__(
        self,
        *,
        n_features: int,
        n_actions: int,
        seed: int = 0,
        random_state: int | None = None,
        preset: Literal["default"] = "default",
        precision_strength: float | None = None,
        tempering_coefficients: float | None = None,
        tempering_rarity: float | None = None,
        evidence_discount: float | None = None,
        net_size: float | None = None,
        hidden_layers: Sequence[int] | str | None = None,
        learning_rate: float | None = None,
        reward_std: float | None = None,
        batch_size: int | None = None,
        train_every: int | None = None,
        minibatches: int | None = None,
        prior_precision: float | None = None,
        prior_shape: float | None = None,
        prior_rate: float | None = None,
        reward_unit_floor: float | None = None,
        tempering_steps: float | None = None,
        exploration: float | None = None,
        replay_capacity: int | Literal["all"] | None = None,
        initial_pulls: int | None = None,
        initial: Literal["round-robin", "uniform"] | None = None,
        floor: float | None = None,
    ) -> None: ...
    def _text(self, params: Mapping[str, Any]) -> str: ...
