/** One rank of the tests of the process group: does what its first argument says and tells it as JSON lines. */
import { agree } from "../../lib/comm/agreement.ts";
import { claims } from "../../lib/comm/claims.ts";
import { ProcessGroup } from "../../lib/comm/process-group.ts";

const [what, ...rest] = process.argv.slice(2);
const { RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT } = process.env;
const rank = Number(RANK);
const tell = (line: unknown): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

async function talk(group: ProcessGroup): Promise<void> {
  if (what === "values") {
    const rows = await group.allGather("rows", { rank, ids: Int32Array.of(rank, rank + 1) });
    tell(rows.map((row) => [row.rank, ...row.ids]));
    tell(await group.broadcast("a word", rank === 1 ? "from one" : undefined, 1));
    tell([await group.count("c"), await group.count("c")]);
  }
  if (what === "rejection")
    await group.allGather("work", rank === 1 ? Promise.reject(new Error("no")) : rank);
  if (what === "settings") await agree(group, { steps: rank === 2 ? 6 : 5, model: "m" });
  if (what === "claims") {
    const take = claims(group, "items", {
      sizes: JSON.parse(rest[0] ?? "[]") as number[],
      askers: [0, 1],
    });
    for (let item = await take(); item !== undefined; item = await take()) {
      tell(item);
      // A slow rank: the others take what it has not begun.
      if (rank === 0) await new Promise((done) => setTimeout(done, 200));
    }
  }
  if (what === "some") {
    const some = await group.among("some", [2, 1]);
    tell((await some?.allGather("numbers", rank)) ?? "not among them");
    tell((await group.gather("words", `of ${rank}`, 1)) ?? "not told");
    if (some === undefined) return;
    // The rank that is to be killed never comes.
    if (rank === 2) await new Promise((done) => setTimeout(done, 60_000));
    try {
      await some.allGather("a sum", rank);
    } finally {
      await some.close();
    }
  }
  if (what === "load") {
    const parts = await group.allGather("a load", new Uint8Array(2 ** 20));
    tell(parts.reduce((sum, part) => sum + part.length, 0));
  }
  if (what === "stream") {
    await group.allGather("ready", rank);
    tell("ready");
    for (;;) await group.allGather("a stream", new Uint8Array(2 ** 18));
  }
  if (what === "silence") {
    await group.allGather("ready", rank);
    // Without a word to the others.
    if (rank === 1) process.exit(0);
    await group.allGather("a sum", rank);
  }
  if (what === "again") {
    await group.close();
    for (const job of ["second", "third"]) {
      await using next = await ProcessGroup.open({ ...place, job });
      tell(await next.allGather("ranks", rank));
    }
  }
  if (what === "counting") {
    tell("ready");
    for (;;) await group.count("c");
  }
  if (what === "stall") {
    // Alive, and busy with something else.
    if (rank === 1) await new Promise((done) => setTimeout(done, 7_000));
    await group.allGather("a sum", rank);
  }
  if (what === "death") {
    await group.allGather("ready", rank);
    tell("ready");
    // The rank that is to be killed never comes.
    if (rank === 1) await new Promise((done) => setTimeout(done, 60_000));
    await group.allGather("a sum", rank);
  }
}

const place = { rank, size: Number(WORLD_SIZE), address: MASTER_ADDR ?? "", port: Number(MASTER_PORT) };
try {
  const group = await ProcessGroup.open({
    ...place,
    patienceMs: 3000,
    arrivalMs: 60_000,
    ...(what === "stall" ? { stallMs: 2000 } : {}),
  });
  try {
    await talk(group);
    await group.close();
  } catch (error) {
    group.fail(error);
    await group.close();
    throw error;
  }
} catch (error) {
  tell({ code: (error as { code?: string }).code, message: (error as Error).message });
  process.exitCode = 1;
}
