/** Attacks on a server of its own process: requests are sent while another thread asks for `/health`. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { startCli } from "../cli/spawn-cli.ts";

/** Far above what is measured, so that a busy machine fails nothing: minutes are what it looks for. */
const mostMs = 10_000;

/** Of the event loop at a stretch, processor time: twice and more of what is measured, a tenth of what it was. */
const mostHeldMs = 400;

export interface Server {
  readonly url: string;
  /** What its event loop was held for at most since it was last asked, milliseconds of processor time. */
  heldMs(): Promise<number>;
}

export async function serverOf(t: TestContext, ...args: string[]): Promise<Server> {
  const probe = new URL("loop-probe.js", import.meta.url).href;
  const child = startCli([...args, "--port", "0"], { NODE_OPTIONS: `--import ${probe}` });
  t.after(async () => {
    child.kill();
    await once(child, "close");
  });
  const heldMs = async (): Promise<number> => {
    child.kill("SIGUSR2");
    for (;;) {
      const [chunk] = (await once(child.stderr, "data")) as [Buffer];
      const [, held] = /held (\S+)/.exec(chunk.toString()) ?? [];
      if (held !== undefined) return Number(held);
    }
  };
  let said = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    said += chunk;
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    if (url !== undefined) return { url, heldMs };
  }
  throw new Error(`no address: ${said}`);
}

interface Waits {
  readonly worstMs: number;
  readonly numAsked: number;
}

async function watched(t: TestContext, url: string): Promise<() => Promise<Waits>> {
  const worker = new Worker(new URL("health-poll.js", import.meta.url), { workerData: url });
  t.after(() => worker.terminate());
  return async () => {
    worker.postMessage("");
    const [waits] = (await once(worker, "message")) as [Waits];
    return waits;
  };
}

export interface Attack {
  readonly path: string;
  readonly bodies: readonly string[];
}

export async function attack(
  t: TestContext,
  { url, heldMs }: Server,
  attacks: Readonly<Record<string, Attack>>,
): Promise<void> {
  const waits = await watched(t, url);
  await sleep(2000);
  await waits();
  await sleep(2000);
  t.diagnostic(`nothing beside it: worst /health ${(await waits()).worstMs.toFixed(0)} ms`);
  for (const [name, { path, bodies }] of Object.entries(attacks)) {
    await heldMs();
    const begun = performance.now();
    const answers = await Promise.all(
      bodies.map(async (body) => {
        const answer = await fetch(`${url}${path}`, { method: "POST", body });
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    const ms = performance.now() - begun;
    await sleep(50);
    const [{ worstMs, numAsked }, held] = [await waits(), await heldMs()];
    const worst = `worst /health ${worstMs.toFixed(0)} ms of ${numAsked}, held for ${held.toFixed(0)} ms`;
    t.diagnostic(`${name}: ${[...new Set(answers)]} after ${ms.toFixed(0)} ms, ${worst}`);
    assert.ok(held < mostHeldMs, `${name}: ${held} ms`);
    assert.ok(
      answers.every((status) => status < 500),
      `${name}: ${answers}`,
    );
    assert.ok(worstMs < mostMs && ms < 10 * mostMs, `${name}: ${worstMs} ms, ${ms} ms`);
  }
}

export const list = (item: string, count: number): string =>
  `[${Array.from({ length: count }, () => item).join()}]`;

export const asked = (body: object): string => JSON.stringify(body);
