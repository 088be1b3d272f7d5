/** The memory stack in the studio's page: what stands on it after each action is what the model then saw. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import type { RunList, TrajectoryDetail } from "../../apps/studio/api.ts";
import { serveStudio } from "../../apps/studio/studio.ts";
import { trajectoryRows } from "../../lib/train/trajectory-rows.ts";
import { answer, back, plan, search, think, views } from "../rollout/stack/play.ts";
import { lines, logOf, withFolder } from "../runs/logs.ts";
import { buildPage, openBrowser, openPage, whyNoBrowser } from "./browser.ts";

const summary = "<summary> g </summary>";
const turns = [plan, search, think, back, search, think, summary, plan, search, answer];

/** Segments of the frames of one column, from the bottom up. */
async function framesOf(column: Locator): Promise<number[]> {
  const shown = await column.locator("button.frame .num").allTextContents();
  return shown.map(Number).reverse();
}

/** The text of frames: what the model said, and what it was answered. */
function textOf(frames: readonly number[], segments: TrajectoryDetail["segments"]): string {
  const whole = frames.map((first) => {
    const answered = segments.slice(first + 1).findIndex(({ kind }) => kind === "policy");
    const end = answered < 0 ? segments.length : first + 1 + answered;
    return segments.slice(first, end).map(({ text }) => text);
  });
  return whole.flat().join("");
}

test("frames of a memory stack grow and shrink as what the model saw did", { skip: whyNoBrowser }, () =>
  withFolder(async (folder) => {
    buildPage();
    const { views: seen, trajectory } = await views(turns);
    const question = { id: "q", question: "q", answers: ["h"] };
    const sampled = [{ trajectory, question, reward: 1, group: 0 }];
    const rows = trajectoryRows(1, sampled, { firstVersion: 0, learnt: new Map() });
    await writeFile(logOf(folder, "trajectories"), lines(rows));
    await writeFile(logOf(folder, "metrics"), lines([{ step: 1, "reward/total": 1 }]));
    await using server = await serveStudio({ roots: [folder] }, { port: 0 });
    await using browser = await openBrowser();
    const ask = async <Answer>(path: string): Promise<Answer> =>
      (await (await fetch(`${server.url}/api/studio${path}`)).json()) as Answer;
    const id = (await ask<RunList>("/runs")).runs[0]?.id;
    const { segments } = await ask<TrajectoryDetail>(`/runs/${id}/trajectories/0`);
    const { page, complaints } = await openPage(browser);
    await page.goto(`${server.url}/studio/#/trajectories/${id}?row=0`);
    await page.getByRole("tab", { name: "Memory" }).click();
    const columns = page.locator(".stack");
    await columns.nth(turns.length - 1).waitFor();
    assert.equal(await columns.count(), turns.length);
    const heights: number[] = [];
    for (let i = 0; i < turns.length; i += 1) {
      const frames = await framesOf(columns.nth(i));
      heights.push(frames.length);
      // After its last action the model saw nothing any more.
      if (i + 1 < turns.length) assert.equal(`Q${textOf(frames, segments)}`, seen[i + 1], turns[i]);
    }
    assert.deepEqual(heights, [1, 2, 3, 3, 4, 5, 2, 2, 3, 4]);
    await columns
      .nth(6)
      .getByRole("button", { name: /^summary/ })
      .click();
    await page.getByRole("region", { name: "Text of the frame" }).getByText(summary).waitFor();
    await columns.nth(6).getByText("dropped").first().waitFor();
    assert.deepEqual(complaints, []);
  }),
);
