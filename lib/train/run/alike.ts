/** Ranks that were given different things would learn what no process alone learns, or wait for each other for ever. */
import { agree } from "../../comm/agreement.ts";
import type { RunSubject } from "./run-state.ts";
import { type Settings, valuesByPath } from "./settings.ts";

/**
 * Refuses a training whose ranks were not given the same, before it begins.
 *
 * @param subject - what this rank would train
 * @param settings - of the run's folder
 * @throws ERR_ARGUMENT naming the first setting that differs, the rank and both values
 */
export async function checkAlike(subject: RunSubject, settings: Settings | undefined): Promise<void> {
  const { kind, seed, steps, learningRates, trainer, critic } = subject;
  const rates = Object.entries(learningRates).map(([name, rate]) => [name, [rate(0), rate(steps - 1)]]);
  const given = {
    ...{ ...settings, ...subject.settings, kind, seed, steps },
    learningRate: Object.fromEntries(rates),
    trainer: trainer.alike,
    critic: critic?.alike,
  };
  if (trainer.processGroup) await agree(trainer.processGroup, Object.fromEntries(valuesByPath(given)));
}
