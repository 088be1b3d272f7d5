// What the losses of train/loss.h and their kernels share: which objective, which KL, and the sums that are told.
#pragma once

namespace seekrl::kernels {

// kLikelihood: -logp. kClipped: the clipped ratio of PPO; at the token, or (kClippedSequence, GSPO) with one ratio
// per sequence, the geometric mean of its tokens' ratios. kClippedWeight: -advantage * clip(ratio) * logp, of which
// only logp has a gradient, so that every token keeps one (CISPO of MiniMax-M1, arXiv 2506.13585).
enum class Objective { kLikelihood, kClipped, kClippedSequence, kClippedWeight };

// What a row's objective is multiplied by where other weights sampled it than the update starts from; no gradient flows
// through it. With ratio = exp(old - rollout):
// kTruncate: min(ratio, high) (truncated importance sampling of tokens: Yao et al., "Your efficient RL framework
// secretly brings you off-policy RL training", 2025; the behaviour weight of decoupled PPO, arXiv 2110.00641).
// kMask: the ratio, and 0 outside of [low, high] (masked importance sampling: IcePop, arXiv 2510.18855).
enum class Correction { kNone, kTruncate, kMask };

// Estimators of KL(policy || reference) from one sample, d = ref - logp (Schulman, "Approximating KL divergence"):
// k1 = -d, k2 = d^2 / 2, k3 = e^d - d - 1, at most 10 and without a gradient there (verl's low_var_kl); verl also has
// abs = |d|.
enum class KlEstimator { kNone, kK1, kK2, kK3, kAbs };

// Sums over rows, so that micro-batches add up; unweighted except where said.
struct LossStats {
  double loss = 0;    // weighted: what was differentiated
  double policy = 0;  // weighted: its objective alone
  double num_rows = 0;
  double entropy = 0;
  double kl = 0;         // to the reference, by the chosen estimator
  double approx_kl = 0;  // old - new
  double num_clipped = 0;
  double correction_ratio = 0;  // old to rollout, before it is truncated or masked
  double num_corrected = 0;     // rows whose ratio was
  double gap = 0;               // |engine's log-prob - ours|
  double gap_max = 0;
};

struct ValueStats {
  double loss = 0;  // weighted
  double num_rows = 0;
  double num_clipped = 0;
  double values = 0;
};

}  // namespace seekrl::kernels
