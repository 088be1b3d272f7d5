/** Debian's Chromium for the tests of the page, kept from reaching any machine but this one. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { projectRoot } from "../project.ts";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The program, where there is one. */
const program = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find(existsSync);

/** Why tests with a browser are skipped; false when they are not. */
export const whyNoBrowser = program === undefined && "no chromium on the PATH (apt-get install chromium)";

/** Builds the page unless it is built. */
export function buildPage(): void {
  execFileSync(process.execPath, [join(projectRoot, "scripts", "page.mjs")], { stdio: "inherit" });
}

/** A browser, to be closed. */
export async function openBrowser(): Promise<Browser> {
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    // Whatever asks for another machine fails.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
  ];
  return chromium.launch({ executablePath: program ?? "", args });
}

/** A page and what it did. */
export interface Watched {
  readonly page: Page;
  /** Addresses of all requests. */
  readonly requests: readonly string[];
  /** Errors of its scripts, and what it complained of. */
  readonly complaints: readonly string[];
}

/** A new page whose requests and errors are kept. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const [requests, complaints]: [string[], string[]] = [[], []];
  context.on("request", (request) => requests.push(request.url()));
  const page = await context.newPage();
  // A machine that tests may be slow and busy; what is waited for comes, or the test has found something.
  page.setDefaultTimeout(60_000);
  page.on("pageerror", ({ message }) => complaints.push(message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return { page, requests, complaints };
}

/** How a phone shows a page. */
export const phone: BrowserContextOptions = {
  ...{ viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true },
};
