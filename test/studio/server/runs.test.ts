/** A real run over the studio's API: its list, curves, trajectories token by token, events while it goes on. */
import assert from "node:assert/strict";
import { appendFile, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { LoggedTrajectory } from "../../../apps/runs/trajectories/logged-trajectory.ts";
import { readEvents } from "../../../apps/serve/http/read-events.ts";
import type {
  ConfigDiff,
  MetricsPage,
  RunDetail,
  RunEvent,
  RunList,
  Studio,
  TrajectoryDetail,
  TrajectoryGroup,
  TrajectoryPage,
} from "../../../apps/studio/api.ts";
import { unpackFloats, unpackIds } from "../../../lib/data/logs/packed-numbers.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { lines, loggedRow } from "../../runs/logs.ts";
import { runBandit } from "../../train/run/rl-run.ts";
import { type Asked, withFolder, withStudio } from "./asked.ts";

let [root, logged, metrics] = ["", [] as LoggedTrajectory[], [] as Record<string, number>[]];
let end: () => void;
let made: Promise<void>;

async function rowsOf<Row>(path: string): Promise<Row[]> {
  const text = await readFile(path, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}

before(async () => {
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  await new Promise<void>((ready, fail) => {
    made = withFolder(async (folder) => {
      const run = join(folder, "bandit");
      await runBandit({ algorithm: algorithms.ppo, steps: 3, folder: run });
      await writeFile(join(run, "config.yaml"), "steps: 3\nseed: 11\nalgorithm: {name: ppo}\n");
      logged = await rowsOf(join(run, "trajectories.jsonl"));
      metrics = await rowsOf(join(run, "metrics.jsonl"));
      root = folder;
      ready();
      await ended;
    });
    made.catch(fail);
  });
});
after(() => {
  end();
  return made;
});

const asked = (use: (asked: Asked, run: string) => Promise<void>): Promise<void> =>
  withStudio({ roots: [root] }, async (studio) => {
    const { runs } = await studio.get<RunList>("/runs");
    await use(studio, runs.find(({ name }) => name === "bandit")!.id);
  });

test("a run is listed with its state, its last metrics and its options", async () => {
  await asked(async ({ get }, id) => {
    const { capabilities, liveRun } = await get<Studio>("");
    assert.deepEqual(capabilities, { serve: false, feedback: false, index: false, control: true });
    assert.equal(liveRun, null);
    const run = await get<RunDetail>(`/runs/${id}`);
    assert.deepEqual([run.kind, run.state, run.step, run.steps], ["rl", "finished", 3, 3]);
    assert.deepEqual(run.last, metrics[2]);
    assert.deepEqual(
      run.spark,
      metrics.map((row) => row["reward/total"]),
    );
    assert.deepEqual(run.options, [
      { path: "algorithm.name", value: '"ppo"' },
      { path: "seed", value: "11" },
      { path: "steps", value: "3" },
    ]);
    assert.equal(run.checkpoints[0]?.step, 3);
    assert.match(run.whyNotStop ?? "", /nobody/);
    assert.match(run.whyNotResume ?? "", /last step is done/);
    const diff = await get<ConfigDiff>(`/diff?first=${id}&second=${id}`);
    assert.deepEqual([diff.differences, diff.numSame], [[], 3]);
  });
});

test("curves are the numbers of the log", async () => {
  await asked(async ({ get }, id) => {
    const page = await get<MetricsPage>(`/runs/${id}/metrics`);
    assert.equal(page.next, 3);
    for (const { name, steps, values } of page.series) {
      assert.deepEqual(steps, [1, 2, 3]);
      assert.deepEqual(
        values,
        metrics.map((row) => row[name]),
        name,
      );
    }
    const one = await get<MetricsPage>(`/runs/${id}/metrics?names=reward/mean&from=2&to=3`);
    assert.deepEqual(
      one.series.map(({ name, steps }) => [name, steps]),
      [["reward/mean", [2, 3]]],
    );
  });
});

test("a trajectory has every token as the log has it", async () => {
  await asked(async ({ get }, id) => {
    const detail = await get<TrajectoryDetail>(`/runs/${id}/trajectories/37`);
    const row = logged[37]!;
    assert.deepEqual([detail.id, detail.reward, detail.hasTokens], [row.id, row.reward, true]);
    assert.equal(detail.segments.length, row.segments.length);
    for (const [i, { kind, tokens }] of detail.segments.entries()) {
      const segment = row.segments[i]!;
      assert.deepEqual(tokens!.ids, [...unpackIds(segment.ids!)]);
      if (kind !== "policy") {
        assert.deepEqual([tokens!.logprobs, tokens!.trained], [undefined, undefined]);
        continue;
      }
      for (const name of ["logprobs", "gaps", "entropies", "advantages"] as const)
        assert.deepEqual(tokens![name], [...unpackFloats(segment[name]!, segment.tokens)], name);
      assert.ok(tokens!.trained!.every((each) => each));
    }
  });
});

test("a page of the list is filtered, sorted and cut as it was asked for", async () => {
  await asked(async ({ get, status }, id) => {
    const query = "minReward=0.1&sort=reward&order=desc&offset=2&limit=3&fromStep=2";
    const page = await get<TrajectoryPage>(`/runs/${id}/trajectories?${query}`);
    const wanted = logged
      .map((row, i) => ({ i, row }))
      .filter(({ row }) => row.reward! >= 0.1 && row.step >= 2)
      .sort((a, b) => b.row.reward! - a.row.reward! || a.i - b.i);
    assert.deepEqual([page.total, page.matching, page.offset], [logged.length, wanted.length, 2]);
    assert.deepEqual(
      page.rows.map(({ row }) => row),
      wanted.slice(2, 5).map(({ i }) => i),
    );
    assert.equal(page.ranges.maxReward, Math.max(...logged.map(({ reward }) => reward!)));
    const group = await get<TrajectoryGroup>(`/runs/${id}/trajectories/${page.rows[0]!.row}/group`);
    assert.equal(group.samples.length, 8);
    assert.ok(
      group.samples.every(({ question, step }) => question === group.question && step === group.step),
    );
    for (const [path, code] of [
      ["?limit=501", 400],
      ["?minReward=much", 400],
      ["?colour=red", 400],
      [`/${logged.length}`, 404],
      ["/-1", 404],
    ] as const)
      assert.equal((await status(`/runs/${id}/trajectories${path}`)).status, code, path);
    assert.equal((await status("/runs/none/trajectories")).status, 404);
  });
});

/** Reads events until one passes. */
async function until(
  events: AsyncIterator<RunEvent>,
  holds: (event: RunEvent) => boolean,
): Promise<RunEvent> {
  for (let next = await events.next(); !next.done; next = await events.next())
    if (holds(next.value)) return next.value;
  throw new Error("the events ended");
}

async function* eventsAt(url: string): AsyncGenerator<RunEvent> {
  const { body } = await fetch(url);
  for await (const { data } of readEvents(body)) yield JSON.parse(data) as RunEvent;
}

test("events tell of metrics and trajectories as they are written, and of a log that was cut back", async () => {
  await withFolder(async (folder) => {
    const [rows, trajectories] = ["metrics.jsonl", "trajectories.jsonl"].map((name) => join(folder, name));
    await writeFile(rows!, lines([{ step: 1, "reward/mean": 0.25 }]));
    await writeFile(trajectories!, lines([loggedRow(0)]));
    await withStudio({ roots: [folder] }, async ({ url, get }) => {
      const { runs } = await get<RunList>("/runs");
      const events = eventsAt(`${url}/api/studio/runs/${runs[0]!.id}/events?after=1`);
      const first = await until(events, ({ type }) => type === "run");
      assert.equal(first.type === "run" && first.run.step, 1);
      await appendFile(rows!, lines([{ step: 2, "reward/mean": 0.5 }]));
      const added = await until(events, ({ type }) => type === "metrics");
      assert.deepEqual(added, {
        ...{ type: "metrics", revision: 0, next: 2 },
        rows: [{ step: 2, "reward/mean": 0.5 }],
      });
      await appendFile(trajectories!, lines([loggedRow(1), loggedRow(2)]));
      const more = await until(events, (event) => event.type === "trajectories" && event.total === 3);
      assert.equal(more.type, "trajectories");
      await truncate(rows!, 0);
      await appendFile(rows!, lines([{ step: 1, "reward/mean": 0.75 }]));
      const reset = await until(events, ({ type }) => type === "reset");
      assert.deepEqual(reset, { type: "reset", revision: 1 });
      const again = await until(events, ({ type }) => type === "metrics");
      assert.equal(again.type === "metrics" && again.rows[0]?.["reward/mean"], 0.75);
      await events.return(undefined);
    });
  });
});

test("a collapse, and steps that teach nothing, are warned of with the steps at which they held", async () => {
  await withFolder(async (folder) => {
    const rows = Array.from({ length: 60 }, (_, i) => ({
      ...{ step: i + 1, "reward/total": i < 30 ? 0.8 : 0.05, "reward/mean": 0.5 },
      "groups/equal": i >= 4 && i < 7 ? 1 : 0,
    }));
    await writeFile(join(folder, "metrics.jsonl"), lines(rows));
    await withStudio({ roots: [folder] }, async ({ get }) => {
      const { runs } = await get<RunList>("/runs");
      const { warnings, warning } = await get<RunDetail>(`/runs/${runs[0]!.id}`);
      const [equal, collapse] = warnings;
      assert.deepEqual([equal?.kind, equal?.fromStep, equal?.toStep], ["hint", 5, 7]);
      assert.deepEqual(
        [collapse?.kind, collapse?.metric, collapse?.toStep],
        ["collapse", "reward/total", 60],
      );
      assert.match(warning ?? "", /reward\/total fell below its start/);
    });
  });
});
