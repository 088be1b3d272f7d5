/** The numbers of a run that are looked at first, and which way each is better. */

/** Those that say most about a training, in the order in which they are shown. */
export const mainMetrics = [
  ...[
    "reward/total",
    "reward/mean",
    "eval/em",
    "em/mean",
    "loss",
    "eval/loss",
    "policy/kl_reference",
    "policy/kl",
  ],
  ...[
    "policy/entropy",
    "search/share",
    "search/rounds",
    "tokens/response",
    "turns/invalid_share",
    "grad_norm",
  ],
  ...["policy/grad_norm", "logprob_gap/max"],
];

/** Parts of names whose numbers are better when they are higher, and of those that are better when they are lower. */
const higher = /^(reward|em|f1|acc)\b|^eval\/(em|f1|acc)$/;
const lower = /^(eval\/|value\/)?loss$|invalid_share$/;

/** Which way a number is better; undefined where neither is. */
export function betterWay(name: string): "higher" | "lower" | undefined {
  if (lower.test(name)) return "lower";
  return higher.test(name) && !name.endsWith("/std") ? "higher" : undefined;
}
