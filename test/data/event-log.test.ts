/** TensorBoard's event files, against its own. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { crc32c, EventLog } from "../../lib/data/logs/event-log.ts";
import { projectRoot } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-events-"));
after(() => rm(folder, { recursive: true }));
const golden = await readFile(join(projectRoot, "test", "golden", "data", "events.tfevents"));
const rows: Record<string, number>[] = [
  { step: 0, "eval/em": 0.25 },
  { step: 1, "reward/mean": 0.5, "policy/kl": -1.25e-7, tokens: 123456789 },
  { step: 300, "reward/mean/größe": 1e30 },
  { step: 70000 },
];

function clock(): () => number {
  let seconds = 1700000000.5 - 1;
  return () => (seconds += 1);
}

test("the checksum is CRC-32C", () => {
  // RFC 3720, B.4
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(255)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e);
});

test("an event file is byte for byte the one that TensorBoard's classes write", async () => {
  const path = join(folder, "whole");
  const log = await EventLog.open(path, 0, clock());
  for (const row of rows) await log.append(row);
  await log.sync();
  assert.equal(log.bytes, golden.length);
  await log.close();
  assert.ok((await readFile(path)).equals(golden));
});

test("set back to a checkpoint, an event file goes on as if nothing had been lost", async () => {
  const path = join(folder, "resumed");
  const now = clock();
  const first = await EventLog.open(path, 0, now);
  for (const row of rows.slice(0, 2)) await first.append(row);
  const { bytes } = first;
  await first.append({ step: 2, lost: 1 });
  await first.close();
  let seconds = 1700000003.5 - 1;
  const second = await EventLog.open(path, bytes, () => (seconds += 1));
  for (const row of rows.slice(2)) await second.append(row);
  await second.close();
  assert.ok((await readFile(path)).equals(golden));
});
