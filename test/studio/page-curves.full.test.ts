/** Curves of the studio's page that are longer than they are wide. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { RunList } from "../../apps/studio/api.ts";
import { serveStudio } from "../../apps/studio/studio.ts";
import { lines, logOf, withFolder } from "../runs/logs.ts";
import { buildPage, openBrowser, openPage, whyNoBrowser } from "./browser.ts";

const steps = 5000;
/** The one step of 5000 that is not like the others; five steps become one point. */
const spike = { step: 4497, value: 400 };

const metrics = lines(
  Array.from({ length: steps }, (_, i) => ({
    step: i + 1,
    grad_norm: i + 1 === spike.step ? spike.value : 1,
  })),
);

/** The greatest share of the height of a chart that is drawn on above one place of its axis. */
function tallestDrawn(page: Page): Promise<number> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('[data-metric="grad_norm"] canvas');
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const drawn = new Array(width).fill(0);
    for (let at = 3; at < data.length; at += 4) if (data[at] > 0) drawn[((at - 3) / 4) % width] += 1;
    return Math.max(...drawn.slice(width / 4)) / height;
  })()`);
}

test(
  "a spike of a single step is seen in a curve of thousands, and read at the cursor",
  {
    skip: whyNoBrowser,
  },
  () =>
    withFolder(async (folder) => {
      buildPage();
      await writeFile(logOf(folder, "metrics"), metrics);
      await using server = await serveStudio({ roots: [folder] }, { port: 0 });
      await using browser = await openBrowser();
      const { runs } = (await (await fetch(`${server.url}/api/studio/runs`)).json()) as RunList;
      const { page, complaints } = await openPage(browser);
      await page.goto(`${server.url}/studio/#/runs/${runs[0]?.id}`);
      const chart = page.locator('[data-metric="grad_norm"]');
      await chart.locator("canvas").waitFor();
      assert.ok((await tallestDrawn(page)) > 0.6, "the band reaches from the usual to the spike");
      await chart.getByRole("img").focus();
      // Points have the last step of their five: from 5000 back to 4500.
      for (let point = steps; point > spike.step + 3; point -= 50)
        await page.keyboard.press("Shift+ArrowLeft");
      await chart.getByText(`1 to ${spike.value}`).waitFor();
      assert.deepEqual(complaints, []);
    }),
);
