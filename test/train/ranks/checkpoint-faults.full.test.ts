/** A rank that is killed, or cannot write, while ranks write a checkpoint together: it is whole or not there (laws 5 and 8). */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { digestsBelow } from "../../../lib/base/files/digests.ts";
import { latestCheckpoint } from "../../../lib/train/run/checkpoint.ts";
import { runRanks } from "../../comm/ranks.ts";
import { steadyMetrics } from "../run/kill.ts";
import type { PlantedFault } from "./planted-fault.ts";

const [middle, last] = [6, 12];
const folder = mkdtempSync(join(tmpdir(), "seekrl-faults-"));

const train = (into: string, fault?: Omit<PlantedFault, "step">) => {
  const options = { zero: 3, steps: last, fault: fault && { ...fault, step: last } };
  return runRanks("./training-rank.js", import.meta.url, {
    ...{ size: 2, args: ["sft", into, JSON.stringify(options)] },
  });
};

// What nothing breaks.
before(() => train(join(folder, "whole")));
after(() => rmSync(folder, { recursive: true }));

type Outcome = Awaited<ReturnType<typeof train>>[number];

const errorOf = ({ lines }: Outcome) => lines.at(-1) as { readonly code: string; readonly message: string };

/** What a run ends with, beside what its clock says. */
async function endOf(run: string) {
  const { "state.json": _, ...checkpoint } = await digestsBelow(join(run, "checkpoints", "step-000012"));
  return { checkpoint, model: await digestsBelow(join(run, "model")), log: await steadyMetrics(run) };
}

/** Breaks a training, looks at how it ended, and goes on with it: to the bytes of one that nothing broke. */
async function breakAndResume(
  fault: Omit<PlantedFault, "step">,
  newest: number,
  look: (ranks: readonly Outcome[]) => void,
): Promise<void> {
  const broken = join(folder, `${fault.at}-${fault.rank}`);
  look(await train(broken, fault));
  assert.equal((await latestCheckpoint(join(broken, "checkpoints")))?.step, newest);
  const again = await train(broken);
  assert.deepEqual(
    again.map(({ code }) => code),
    [0, 0],
  );
  assert.deepEqual(await endOf(broken), await endOf(join(folder, "whole")));
}

function assertNamed(survivor: Outcome, killed: Outcome, message: RegExp): void {
  assert.equal(killed.signal, "SIGKILL");
  assert.deepEqual([survivor.code, errorOf(survivor).code], [1, "ERR_REMOTE"]);
  assert.match(errorOf(survivor).message, message);
}

test("a rank that is killed while a checkpoint is written is named, and both go on to the same bytes", async () => {
  // The time goes by in waiting for the dead.
  const second = (["before", "within", "after"] as const).map((at) =>
    breakAndResume({ at, rank: 1 }, middle, ([survivor, killed]) =>
      assertNamed(survivor!, killed!, /^writing a checkpoint: rank 1 has not been heard of for 4 s$/),
    ),
  );
  const ending = [
    ["naming", middle],
    ["named", last],
  ] as const;
  const first = ending.map(([at, newest]) =>
    breakAndResume({ at, rank: 0 }, newest, ([killed, survivor]) =>
      assertNamed(
        survivor!,
        killed!,
        /^finishing a checkpoint: rank 0's machine, .* has closed the connection$/,
      ),
    ),
  );
  await Promise.all([...second, ...first]);
});

test("a rank that cannot write its part ends all with its error, and nothing is torn", async () => {
  const faults = [
    ["full", 1, "written: File too large"],
    ["taken", 1, "replaced: Is a directory"],
  ] as const;
  const broken = faults.map(([at, rank, why]) => {
    const part = `trainer-0000${rank + 1}-of-00002.safetensors: cannot be ${why}`;
    return breakAndResume({ at, rank }, middle, (ranks) => {
      for (const [i, one] of ranks.entries()) {
        assert.deepEqual([one.code, errorOf(one).code], [1, "ERR_IO"]);
        assert.ok(errorOf(one).message.endsWith(part), errorOf(one).message);
        assert.equal(errorOf(one).message.startsWith(`rank ${rank}: `), i !== rank);
      }
    });
  });
  await Promise.all(broken);
});
