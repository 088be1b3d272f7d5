/** What a page looks like, asked of the browser in its own words: tests are compiled without the types of a page. */
import type { Page } from "playwright-core";

/** The colour behind every token that is shown, by its place: `segment.token`. */
export async function tokenColours(page: Page): Promise<[string, string][]> {
  return page.evaluate(`[...document.querySelectorAll(".tok")].map((token) => {
    const colour = getComputedStyle(token).backgroundColor;
    return [token.dataset.at, colour === "rgba(0, 0, 0, 0)" ? "transparent" : colour];
  })`);
}

/** The computed style of the first element that a selector finds. */
export async function styleOf(page: Page, selector: string, property: string): Promise<string> {
  const element = `document.querySelector(${JSON.stringify(selector)})`;
  return page.evaluate(`getComputedStyle(${element})[${JSON.stringify(property)}]`);
}

/** Pixels by which the page is wider than its window. */
export async function overflowOf(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth");
}

/** What can be used but has no name that a screen reader could say. */
export async function namelessIn(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll("button, a, input, select, textarea, [role=tab]")]
    .filter((each) => {
      const labels = [...(each.labels ?? [])].map(({ textContent }) => textContent);
      const names = [each.getAttribute("aria-label"), each.textContent, ...labels];
      return names.every((name) => (name ?? "").trim() === "");
    })
    .map(({ outerHTML }) => outerHTML)`);
}

/** What the page keeps under a name; empty when it keeps nothing. */
export async function storedText(page: Page, name: string): Promise<string> {
  return page.evaluate(`localStorage.getItem(${JSON.stringify(name)}) ?? ""`);
}
