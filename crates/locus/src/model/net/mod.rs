//! Policies around a net that predicts every action's reward, trained by squared errors.

pub(crate) mod gradient_net;
mod randomized;
pub(crate) mod reward_net;

policies! {
    neural_linear,
    epsilon_greedy,
    boltzmann,
    param_noise,
    dropout,
    bootstrap,
    neural_ucb,
    neural_ts,
}
