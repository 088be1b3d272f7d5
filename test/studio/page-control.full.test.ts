/** A training that is stopped and resumed from the studio's page, which asks for the server's key first. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { holderOf } from "../../apps/runs/run-lock.ts";
import { serveStudio } from "../../apps/studio/studio.ts";
import { writeTinyModel } from "../cli/tiny-folder.ts";
import { projectRoot } from "../project.ts";
import { lines, withFolder } from "../runs/logs.ts";
import { buildPage, openBrowser, openPage, whyNoBrowser } from "./browser.ts";

const apiKey = "key-of-this-test";

/** A supervised training that does not end by itself. */
async function startTraining(folder: string) {
  const [model, data, out] = ["model", "data.jsonl", "run"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeTinyModel(model);
  await writeFile(data, lines(["a", "b"].map((word) => ({ prompt: `${word}?`, completion: ` ${word}.` }))));
  const sizes = ["--epochs", "1000000", "--batch-size", "2", "--learning-rate", "1e-3"];
  const args = ["sft", "--model", model, "--data", data, "--out", out, ...sizes];
  return spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...args], { stdio: "ignore" });
}

const state = (page: Page, name: string) => page.locator(".head .badge", { hasText: name });

/** The step that the page shows. */
async function stepOf(page: Page): Promise<number> {
  const shown = (await page.locator(".run-head dd").first().textContent()) ?? "";
  return Number(shown.split("/")[0]?.replace(/\D/g, ""));
}

async function stop(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Stop it" }).click();
  await state(page, "stopped").waitFor();
}

test("with the key a run is stopped at a checkpoint and goes on from there", { skip: whyNoBrowser }, () =>
  withFolder(async (folder) => {
    buildPage();
    const training = await startTraining(folder);
    const ended = once(training, "exit");
    try {
      await using server = await serveStudio({ roots: [folder] }, { port: 0, apiKey });
      await using browser = await openBrowser();
      const { page } = await openPage(browser);
      await page.goto(`${server.url}/studio/#/runs`);
      const dialog = page.getByRole("dialog", { name: "This studio asks for its key" });
      await dialog.getByLabel("Key").fill("another");
      await dialog.getByRole("button", { name: "Continue" }).click();
      await dialog.getByLabel("Key").fill(apiKey);
      await dialog.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("link", { name: "run", exact: true }).click();
      await state(page, "live").waitFor();
      await stop(page);
      assert.equal((await ended)[0], 1, "it ends as after Ctrl-C");
      const before = await stepOf(page);
      assert.ok(before > 0);
      await page.getByRole("button", { name: "Resume" }).click();
      await state(page, "live").waitFor();
      await page.getByRole("tab", { name: "Output" }).click();
      await page.locator(".output").waitFor();
      await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
      await stop(page);
      assert.ok((await stepOf(page)) >= before);
      await page.getByRole("button", { name: "Resume" }).waitFor();
      assert.equal(await page.getByText("stops after this step").count(), 0, "what was said has passed");
    } finally {
      // Nothing that was begun here goes on, whatever failed.
      const holder = await holderOf(join(folder, "run", "lock"));
      if (holder !== undefined) process.kill(holder.pid, "SIGKILL");
    }
  }),
);
