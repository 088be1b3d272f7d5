/** When a page first shows something, and when it shows the first lines of its list. */
import type { Browser } from "playwright-core";
import { openPage } from "./browser.ts";

/** Milliseconds since the browser began to ask for the page. */
export interface FirstPaint {
  /** The frame of the page: the browser's first contentful paint. */
  readonly paintMs: number;
  /** The first line of the list. */
  readonly rowsMs: number;
}

/** Runs before the page's own scripts, and notes when the first line is there. */
const noteRows = `new MutationObserver((_, watcher) => {
  if (!document.querySelector(".trajectory-line")) return;
  window.rowsAt = performance.now();
  watcher.disconnect();
}).observe(document, { childList: true, subtree: true });`;

/** Opens the trajectories of a run in a browser that knows nothing of the page. */
export async function measureFirstPaint(browser: Browser, address: string): Promise<FirstPaint> {
  const { page } = await openPage(browser);
  await page.addInitScript(noteRows);
  await page.goto(address);
  await page.locator(".trajectory-line").first().waitFor();
  const paint = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now()`;
  const [paintMs, rowsMs] = await page.evaluate<[number, number]>(`[${paint}, window.rowsAt]`);
  await page.context().close();
  return { paintMs, rowsMs };
}
