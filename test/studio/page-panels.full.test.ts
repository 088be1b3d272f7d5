/** Every panel of the studio's page on a real run, in a real browser. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { HttpServer } from "../../apps/serve/http/http-server.ts";
import type { EvaluationList, RunList, TrajectoryDetail } from "../../apps/studio/api.ts";
import { serveStudio } from "../../apps/studio/studio.ts";
import { runDemo } from "../../apps/world/demo/demo.ts";
import type { DemoSizes } from "../../apps/world/demo/parts/parts.ts";
import { type Channel, cssOf, inks } from "../../web/base/colour/token-colour.ts";
import { colourOf, scaleOf, tokensOf } from "../../web/base/colour/tokens.ts";
import { runCli } from "../cli/run-cli.ts";
import { buildPage, openBrowser, openPage, phone, type Watched, whyNoBrowser } from "./browser.ts";
import { namelessIn, overflowOf, styleOf, tokenColours } from "./looks.ts";
import { demoSize, loggedSegments, makeRealRun, type RealRun } from "./real-run.ts";

const skip = whyNoBrowser;
let [folder, made, server, browser] = [""] as unknown as [string, RealRun, HttpServer, Browser];
/** Ids of the run of parallel queries, and of the results before and after it. */
let ids = { run: "", before: "", after: "" };

const ask = async <Answer>(path: string): Promise<Answer> =>
  (await (await fetch(`${server.url}/api/studio${path}`)).json()) as Answer;

before(async () => {
  if (skip) return;
  buildPage();
  folder = await mkdtemp(join(tmpdir(), "seekrl-studio-"));
  made = await makeRealRun(join(folder, "demo"));
  server = await serveStudio({ roots: [folder], index: made.index }, { port: 0 });
  browser = await openBrowser();
  const { runs } = await ask<RunList>("/runs");
  const { evaluations } = await ask<EvaluationList>("/evaluations");
  const named = (part: string): string => evaluations.find(({ name }) => name.includes(part))?.id ?? "";
  ids = {
    run: runs.find((each) => each.folder === made.run)?.id ?? "",
    before: named("imitation"),
    after: named("after-rl"),
  };
});

after(async () => {
  await browser?.close();
  await server?.close();
  if (folder !== "") await rm(folder, { recursive: true, force: true });
});

/** Opens a place of the page in a browser of its own, and checks at the end that nothing went wrong and nothing went out. */
async function at(
  place: string,
  look: (page: Page) => Promise<void>,
  options: Parameters<typeof openPage>[1] = {},
): Promise<void> {
  const watched: Watched = await openPage(browser, options);
  try {
    await watched.page.goto(`${server.url}/studio/${place}`);
    await look(watched.page);
    assert.deepEqual(watched.complaints, []);
    const beyond = watched.requests.filter((url) => !url.startsWith(`${server.url}/`));
    assert.deepEqual(beyond, [], "no request leaves the machine");
  } finally {
    await watched.page.context().close();
  }
}

test("the list of runs leads to one, whose curves are those of its log", { skip }, () =>
  at("#/runs", async (page) => {
    await page.getByRole("link", { name: "multi-seed-0-quick" }).click();
    await page.getByRole("heading", { name: /multi-seed-0-quick/ }).waitFor();
    const chart = page.locator('[data-metric="reward/total"]');
    await chart.locator("canvas").waitFor();
    const { runs } = await ask<RunList>("/runs");
    const last = runs.find(({ id }) => id === ids.run)?.last["reward/total"] ?? Number.NaN;
    await page.getByLabel("Smoothing").fill("0");
    const label = (await chart.getByRole("img").getAttribute("aria-label")) ?? "";
    assert.ok(label.includes(`${Number(last.toFixed(4))} at step ${demoSize.steps}`), label);
    assert.equal(await chart.locator(".readings b").textContent(), String(Number(last.toFixed(4))));
  }),
);

test("runs that are ticked are compared in one chart each", { skip }, () =>
  at("#/runs", async (page) => {
    for (const name of ["multi-seed-0-quick", "single-seed-0-quick"])
      await page.getByRole("checkbox", { name: `Compare demo/${name}` }).check();
    await page.getByRole("button", { name: "Compare 2" }).click();
    const readings = page.locator('[data-metric="reward/total"] .readings b');
    await readings.nth(1).waitFor();
    assert.equal(await readings.count(), 2);
    await page.getByRole("tab", { name: "Configuration diff" }).click();
    await page
      .getByText(/No option differs|No configuration was kept|What differs/)
      .first()
      .waitFor();
  }),
);

const channels: Readonly<Record<Channel, string>> = {
  ...{ logprob: "Log-prob", gap: "Gap", entropy: "Entropy", advantage: "Advantage", mask: "Mask" },
};

test("colours of tokens equal the stored numbers, in every channel and theme", { skip }, async () => {
  const tokens = (await loggedSegments(made.run, 1)).map(tokensOf);
  for (const theme of ["light", "dark"] as const) {
    const look = async (page: Page): Promise<void> => {
      for (const [channel, label] of Object.entries(channels) as [Channel, string][]) {
        await page.getByRole("radio", { name: label }).click();
        await page.getByRole("radio", { name: label, checked: true }).waitFor();
        const colouring = { channel, theme, scale: scaleOf(channel, tokens.flat()) };
        const expected = tokens.flatMap((each, segment) =>
          each.map((token, i) => [`${segment}.${i}`, colourOf(token, colouring)]),
        );
        assert.deepEqual(await tokenColours(page), expected, `${theme} ${channel}`);
      }
    };
    await at(`#/trajectories/${ids.run}?row=1`, look, { colorScheme: theme });
  }
});

test("text stands in the ink that its colours were made for", { skip }, async () => {
  for (const theme of ["light", "dark"] as const)
    await at(
      `#/trajectories/${ids.run}?row=1`,
      async (page) => {
        await page.locator(".segment.policy .segment-text").first().waitFor();
        const colour = await styleOf(page, ".segment.policy .segment-text", "color");
        const parts = (css: string): number[] => [...css.matchAll(/\d+/g)].map(Number);
        const off = parts(colour).map((part, i) => Math.abs(part - (inks[theme][i] ?? 0)));
        assert.ok(Math.max(...off) <= 12, `${colour} is not near ${cssOf(inks[theme])}`);
      },
      { colorScheme: theme },
    );
});

test("the list is filtered by answer, stop and words, and arrows choose in it", { skip }, () =>
  at(`#/trajectories/${ids.run}`, async (page) => {
    const list = page.getByRole("listbox", { name: "Trajectories" });
    await page.getByText(`${demoSize.trajectories} trajectories`).waitFor();
    await page.getByRole("radio", { name: "Wrong" }).click();
    const { matching } = await ask<{ matching: number }>(`/runs/${ids.run}/trajectories?em=0`);
    await page.getByText(`${matching} of ${demoSize.trajectories}`).waitFor();
    await list.focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(".outcome .badge.bad").waitFor();
    await page.getByRole("radio", { name: "All", exact: true }).click();
    await page.getByRole("searchbox", { name: "Find in questions" }).fill("nobody asked this");
    await page.getByText("None is so").waitFor();
  }),
);

test("the numbers of a token are shown where the arrow keys lead", { skip }, async () => {
  const { segments } = await ask<TrajectoryDetail>(`/runs/${ids.run}/trajectories/1`);
  const first = tokensOf(segments.find(({ kind }) => kind === "policy")!)[0]!;
  await at(`#/trajectories/${ids.run}?row=1`, async (page) => {
    await page.getByRole("group", { name: /^Conversation/ }).focus();
    await page.keyboard.press("ArrowRight");
    const shown = page.getByRole("status", { name: "Numbers of a token" });
    await shown.getByText(`id ${first.id}`).waitFor();
    assert.match((await shown.textContent()) ?? "", /trained.*log-prob.*entropy.*advantage/s);
  });
});

test(
  "samples of a question stand side by side with their advantages; searches with their hits",
  { skip },
  () =>
    at(`#/trajectories/${ids.run}?row=1&view=group`, async (page) => {
      await page
        .getByRole("article", { name: /^Sample/ })
        .nth(1)
        .waitFor();
      assert.equal(await page.getByRole("article", { name: /^Sample/ }).count(), 2);
      assert.equal(await page.locator(".advantage").count(), 2);
      const detail = await ask<TrajectoryDetail>(`/runs/${ids.run}/trajectories/1`);
      await page.getByRole("tab", { name: /^Queries/ }).click();
      for (const { queries } of detail.searchRounds)
        for (const { text, hits = [] } of queries) {
          await page.getByText(text, { exact: true }).first().waitFor();
          for (const { title } of hits) await page.locator(".hits").getByText(title).first().waitFor();
        }
    }),
);

test("two evaluations stand side by side with intervals, and show where they differ", { skip }, () =>
  at(`#/evaluation/${ids.before}?with=${ids.after}`, async (page) => {
    await page.getByRole("region", { name: "Differences" }).getByText("McNemar").waitFor();
    await page.getByRole("radio", { name: "All", exact: true }).click();
    await page.getByRole("listbox", { name: "Questions" }).getByRole("option").first().click();
    await page.getByRole("article", { name: "First" }).waitFor();
    await page.getByRole("article", { name: "Second" }).waitFor();
  }),
);

test("an evaluation is read question by question, and its figures have intervals", { skip }, () =>
  at(`#/evaluation/${ids.after}`, async (page) => {
    await page.getByRole("listbox", { name: "Questions" }).getByRole("option").first().click();
    await page.locator(".segment.policy").first().waitFor();
    await page.getByRole("tab", { name: "Figures" }).click();
    await page.locator("svg.interval").first().waitFor();
  }),
);

test("a search of the index says why passages rank; the corpus is counted", { skip }, () =>
  at("#/index", async (page) => {
    const { question } = await ask<TrajectoryDetail>(`/runs/${ids.run}/trajectories/1`);
    await page.getByRole("searchbox", { name: "Search the index" }).fill(question);
    await page.keyboard.press("Enter");
    await page.locator(".hit-card").first().getByText("rank 1", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Corpus report" }).click();
    await page.getByRole("button", { name: "Read the corpus" }).click();
    await page.getByText("Duplicates").waitFor();
  }),
);

/** A demo that trains until it is told to stop, however slow the browser is. */
const sizes: DemoSizes = {
  ...{ reading: 2, start: 2, thorough: 2, demonstrations: 32, worldModel: 30 },
  training: { steps: 100_000, batchQuestions: 8 },
  numTest: 16,
};

test("while it trains the curve climbs and answers come", { skip }, () =>
  at("#/live", async (page) => {
    const stop = new AbortController();
    const training = runDemo({ out: join(folder, "live"), sizes, signal: stop.signal });
    const stopped = assert.rejects(training, { code: "ERR_ABORTED" });
    try {
      await page.locator(".live-stats").getByText("live/").waitFor();
      await page.locator(".badge", { hasText: "live" }).waitFor();
      await page.getByText(/^Answers at step/).waitFor();
      await page.locator('[data-metric="reward/total"] canvas').waitFor();
    } finally {
      stop.abort();
      await stopped;
    }
    await page.locator(".badge", { hasText: "stopped" }).waitFor();
  }),
);

const places = [
  "#/runs",
  "#/runs/RUN",
  "#/trajectories/RUN",
  "#/trajectories/RUN?row=1",
  "#/evaluation",
  "#/index",
  "#/live",
  "#/chat",
];

test("a phone shows every panel without scrolling sideways, and everything that is used has a name", {
  skip,
}, async () => {
  for (const place of places)
    await at(
      place.replace("RUN", ids.run),
      async (page) => {
        await page.locator("h1, .empty").first().waitFor();
        const wide = await overflowOf(page);
        assert.ok(wide <= 0, `${place}: ${wide} pixels too wide`);
        assert.deepEqual(await namelessIn(page), [], place);
      },
      phone,
    );
});

test("the theme follows the system until one is chosen, which stays", { skip }, () =>
  at(
    "#/runs",
    async (page) => {
      const isDark = async () => (await styleOf(page, "body", "backgroundColor")) === "rgb(14, 14, 16)";
      assert.equal(await isDark(), true);
      await page.getByRole("radio", { name: "Light" }).click();
      assert.equal(await isDark(), false);
      await page.reload();
      assert.equal(await isDark(), false);
    },
    { colorScheme: "dark" },
  ),
);

test("a report that was exported opens alone, and asks nobody", { skip }, async () => {
  const file = join(folder, "report.html");
  const { code, stderr } = await runCli("runs", "export", made.run, "--format", "html", "--out", file);
  assert.equal(code, 0, stderr);
  const { page, requests, complaints } = await openPage(browser);
  await page.goto(pathToFileURL(file).href);
  await page.getByText("multi-seed-0-quick").first().waitFor();
  assert.deepEqual([requests, complaints], [[pathToFileURL(file).href], []]);
  await page.context().close();
});
