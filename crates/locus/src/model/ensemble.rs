//! Batched decisions of ensembles: each request draws a net, and requests with the same net are predicted together.

use crate::agent::Breakdown;

/// Which net each request of a batch drew.
pub(crate) struct DrawnNets {
    /// The requests of each net.
    by_net: Vec<Vec<usize>>,
}

impl DrawnNets {
    /// `drawn` has the net of every request.
    pub(crate) fn new(drawn: Vec<usize>, n_nets: usize) -> Self {
        let mut by_net = vec![Vec::new(); n_nets];
        drawn.into_iter().enumerate().for_each(|(request, net)| by_net[net].push(request));
        Self { by_net }
    }

    /// Writes the rewards of all contexts. The arguments of `predict` are a net, the contexts of the requests that drew it, and
    /// the buffer of their rewards.
    ///
    /// If it fails, rewards that are not finite identify the failed request.
    pub(crate) fn for_each(
        &self,
        contexts: &[&[f32]],
        n_actions: usize,
        rewards: &mut [f64],
        mut predict: impl FnMut(usize, &[&[f32]], &mut [f64]) -> Result<(), Breakdown>,
    ) -> Result<(), Breakdown> {
        rewards.fill(0.0);
        let (mut own_contexts, mut own_rewards) = (Vec::new(), Vec::new());
        for (net, requests) in self.by_net.iter().enumerate().filter(|(_, requests)| !requests.is_empty()) {
            own_contexts.clear();
            own_contexts.extend(requests.iter().map(|&request| contexts[request]));
            own_rewards.resize(requests.len() * n_actions, 0.0);
            let predicted = predict(net, &own_contexts, &mut own_rewards);
            for (&request, own) in requests.iter().zip(own_rewards.chunks_exact(n_actions)) {
                rewards[request * n_actions..][..n_actions].copy_from_slice(own);
            }
            predicted?;
        }
        Ok(())
    }
}
