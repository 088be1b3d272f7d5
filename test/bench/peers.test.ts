/** Peers are set up or missed with a reason, asked in turns, ended with their children, and told on a page. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { benchModule, type Pair, type Run } from "./modules.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-peers-test-"));
after(() => rm(scratch, { recursive: true }));

const rate = { name: "tokens a second", ours: ["rate"], peers: [["rate"]], better: "more" } as const;
const wait = {
  name: "ms of one",
  ours: ["ms"],
  peers: [
    ["slow", "ms"],
    ["fast", "ms"],
  ],
  better: "less",
} as const;
const pair: Pair = {
  name: "reading",
  needs: ["torch"],
  ours: { bench: "ours" },
  peer: {
    name: "the peer",
    program: "peer.py",
    variants: [
      { name: "a", args: ["a"] },
      { name: "b", args: ["b"] },
    ],
  },
  full: [],
  figures: [rate],
};
const facts = {
  ...{ command: "npm run bench -- --peers", commit: "abc1234", date: "2026-11-23", hardware: "a processor" },
  ...{ versions: "torch 2.13.0", form: "full", rounds: 3, others: [0.01] },
};

/** Programs that print the planted rates in turn, and a note of who was asked. */
function planted(rates: Readonly<Record<string, number[]>>): { run: Run; asked: string[] } {
  const asked: string[] = [];
  const run: Run = async (_, [program = "", variant = ""]) => {
    const who = program.endsWith("peer.py") ? variant : "ours";
    asked.push(who);
    return { stdout: `loaded\n{"rate":${rates[who]?.shift()},"digest":"${who}"}\n` };
  };
  return { run, asked };
}

const context = { root: ".", form: "full", rounds: 3, values: { python: "python" } };

test("who goes first changes from round to round, and the peer's best setting of the first goes on", async () => {
  const { measure } = await benchModule("measure");
  const { run, asked } = planted({ ours: [10, 12, 9], a: [8], b: [10, 3, 10] });
  const { ratios, variant } = await measure(pair, { ...context, run });
  assert.deepEqual(asked, ["ours", "a", "b", "b", "ours", "ours", "b"]);
  assert.equal(variant, "b");
  assert.deepEqual(ratios, [[1, 4, 0.9]]);
});

test("sides that did different work are not compared, nor is one that prints no such figure", async () => {
  const { measure } = await benchModule("measure");
  const { run } = planted({ ours: [1, 1, 1], a: [1, 1, 1], b: [1, 1, 1] });
  await assert.rejects(measure({ ...pair, same: ["digest"] }, { ...context, run }), /different work: digest/);
  const nothing = planted({ ours: [1], a: [1], b: [1] });
  const other = { ...pair, figures: [{ ...rate, ours: ["speed"] }] };
  await assert.rejects(measure(other, { ...context, run: nothing.run }), /no figure speed was printed/);
});

test("the page has the median and the worst ratio of every figure, the worst of all on top, and what is missing", async () => {
  const { pageOf } = await benchModule("page");
  const rounds = [
    { ours: { rate: 20, ms: 2 }, peer: { rate: 10, slow: { ms: 9 }, fast: { ms: 4 } } },
    { ours: { rate: 30, ms: 8 }, peer: { rate: 10, slow: { ms: 9 }, fast: { ms: 4 } } },
    { ours: { rate: 19.99, ms: 1 }, peer: { rate: 10, slow: { ms: 9 }, fast: { ms: 6 } } },
  ];
  const measured = {
    rounds,
    variant: "b",
    ratios: [
      [2, 3, 1.999],
      [2, 0.5, 6],
    ],
  };
  const page = pageOf({
    outcomes: [
      { pair: { ...pair, figures: [rate, wait] }, measured },
      { pair: { ...pair, name: "writing" }, failed: "torch could not be set up: no wheel\nfor this Python" },
    ],
    facts,
    byHand: [{ name: "gpus", why: "needs a GPU" }],
  });
  assert.match(page, /^# .*2 times in the median of 2 figures, 0\.5 in the worst round \(reading\)\n/);
  assert.match(page, /Behind its peer in at least one round: 1 of 2 figures/);
  assert.ok(page.includes("| reading | tokens a second | 20 | 10 | 2 | **1.99** | the peer; b |"), page);
  assert.ok(page.includes("| reading | ms of one | 2 | 4 | 2 | **0.5** | the peer; b |"), page);
  assert.ok(
    page.includes("- writing: torch could not be set up: no wheel for this Python\n- gpus: needs a GPU"),
    page,
  );
  for (const fact of [
    "abc1234",
    "a processor",
    "torch 2.13.0",
    "npm run bench -- --peers",
    "Sizes: full; rounds: 3",
  ])
    assert.ok(page.includes(fact), fact);
  assert.doesNotMatch(page, /not to be quoted/);
});

test("a page from a machine that others use says so", async () => {
  const { pageOf } = await benchModule("page");
  const page = pageOf({ outcomes: [], facts: { ...facts, others: [0.02, 0.4] } });
  assert.match(
    page,
    /other programs used 21 % of the processors \(median; 40 % at most\): .*not to be quoted/,
  );
  assert.match(page, /nothing was compared/);
});

test("what cannot be set up is missing with its reason, and the rest is there and not set up twice", async () => {
  const { setUp } = await benchModule("setup");
  const folder = join(scratch, "setup");
  const installed: string[] = [];
  const run: Run = async (program, args) => {
    const { mkdir } = await import("node:fs/promises");
    if (args.includes("venv")) await mkdir(args.at(-1) ?? "", { recursive: true });
    if (args.some((each) => each.startsWith("torch=="))) throw new Error("no wheel");
    if (args.includes("install"))
      installed.push(program === "npm" ? "npm" : (args.find((each) => /==/.test(each)) ?? ""));
    return { stdout: "3.12\n" };
  };
  const options = { folder, run, say: () => {}, env: {} };
  const wanted = ["sentence-transformers", "bm25s", "node-llama-cpp"];
  const place = await setUp(wanted, options);
  assert.deepEqual(Object.keys(place.missing), ["torch", "transformers", "sentence-transformers"]);
  assert.equal(place.missing.torch, "no wheel");
  assert.match(place.missing["sentence-transformers"] ?? "", /needs transformers, which could not be set up/);
  assert.match(place.python ?? "", /python-3\.12/);
  assert.ok(existsSync(join(place.homes["node-llama-cpp"] ?? "", "package.json")));
  assert.equal(installed.length, 2);
  await setUp(["bm25s", "node-llama-cpp"], options);
  assert.equal(installed.length, 2);
});

test("what is held to an instruction set has a folder of its own, without libraries that go beyond it", async () => {
  const { setUp } = await benchModule("setup");
  const { heldTo } = await benchModule("held");
  const folder = join(scratch, "held");
  const installed: string[] = [];
  const run: Run = async (_, __, { cwd = "" } = {}) => {
    for (const name of ["haswell", "zen4"]) await writeFile(join(cwd, `libggml-cpu-${name}.so`), "");
    installed.push(cwd);
    return { stdout: "" };
  };
  const options = { folder, run, say: () => {}, env: {} };
  await setUp(["node-llama-cpp"], options);
  const { homes } = await setUp(["node-llama-cpp"], { ...options, hold: heldTo("avx2") });
  const files = [...new Set(installed)].map((home) =>
    readdirSync(home).filter((file) => file.endsWith(".so")),
  );
  assert.deepEqual(files, [["libggml-cpu-haswell.so", "libggml-cpu-zen4.so"], ["libggml-cpu-haswell.so"]]);
  assert.equal(homes["node-llama-cpp"], installed[1]);
});

test("a Python that is too old, or none at all, is said of everything that needs it", async () => {
  const { setUp } = await benchModule("setup");
  const old: Run = async () => ({ stdout: "3.8\n" });
  const options = { folder: join(scratch, "old"), say: () => {}, env: {} };
  const { missing } = await setUp(["faiss", "bm25s"], { ...options, run: old });
  for (const name of ["faiss", "bm25s"])
    assert.match(missing[name] ?? "", /needs Python 3\.11 or later with venv, python3 is 3\.8/);
});

test("without a Python a comparison says which it needs and what names one", async () => {
  const { setUp } = await benchModule("setup");
  const { runChild } = await benchModule("children");
  const env = { SEEKRL_PYTHON: join(scratch, "no-python") };
  const { missing } = await setUp(["torch"], { folder: scratch, run: runChild, say: () => {}, env });
  assert.match(
    missing.torch ?? "",
    /^needs Python 3\.11 or later with venv, \S+no-python is not there; SEEKRL_PYTHON names one$/,
  );
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // Who has ended, and is still to be asked for its status, is there too.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

test("ending the comparison ends a program and what that program has started", {
  skip: process.platform !== "linux" && "looks into /proc",
}, async () => {
  const { runChild } = await benchModule("children");
  const note = join(scratch, "pid");
  const stop = new AbortController();
  const source = `
    const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    require("node:fs").writeFileSync(${JSON.stringify(`${note}.part`)}, String(child.pid));
    require("node:fs").renameSync(${JSON.stringify(`${note}.part`)}, ${JSON.stringify(note)});
    setInterval(() => {}, 1000);`;
  const running = runChild(process.execPath, ["-e", source], { signal: stop.signal });
  const ended = assert.rejects(running, /ended by SIGINT/);
  while (!existsSync(note)) await turn();
  stop.abort(new Error("ended by SIGINT"));
  await ended;
  const grandchild = Number(await readFile(note, "utf8"));
  while (isAlive(grandchild)) await turn();
});

test("a program that fails is told with its last words", async () => {
  const { runChild } = await benchModule("children");
  const source = 'console.error("loading"); console.error("no such model"); process.exitCode = 3;';
  await assert.rejects(
    runChild(process.execPath, ["-e", source], {}),
    /ended with status 3: loading \/ no such model/,
  );
  await assert.rejects(runChild("no-such-program", [], {}), /no-such-program: .*ENOENT/);
});
