/** The site of the documentation: its table of pages, its anchors, and what finds dead links in it. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { importScript, projectRoot } from "../project.ts";

interface Pages {
  readonly files: readonly string[];
  addressOf(file: string): string;
  anchorOf(heading: string): string;
  resolveLink(file: string, href: string): string | undefined;
}

const { files, addressOf, anchorOf, resolveLink } = (await importScript("site/pages.mjs")) as Pages;
const { findFaults } = (await importScript("site/check.mjs")) as {
  findFaults(folder: string, base?: string): string[];
};

const read = (file: string): string => readFileSync(join(projectRoot, file), "utf8");
const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, "");

test("every page of docs and of the results stands once in the sidebar, and all that stands there exists", () => {
  const written = ["docs", "bench/results"].flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  );
  assert.deepEqual(
    written.filter((file) => !files.includes(file)),
    [],
  );
  assert.deepEqual(
    files.filter((file) => !existsSync(join(projectRoot, file))),
    [],
  );
  assert.equal(new Set(files.map(addressOf)).size, files.length);
});

/** The anchors of a page; a heading that comes again has a number. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = anchorOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    let numbered = anchor;
    for (let count = 1; anchors.has(numbered); count += 1) numbered = `${anchor}-${count}`;
    anchors.add(numbered);
  }
  return anchors;
}

test("every anchor that a page names is a heading of the page that it leads to", () => {
  const anchors = new Map(files.map((file) => [`/${addressOf(file)}`, anchorsOf(read(file))]));
  const dead: string[] = [];
  let count = 0;
  for (const file of files) {
    for (const [, path = "", anchor = ""] of withoutCode(read(file)).matchAll(
      /\]\((?!\w+:)([^)#]*)#([^)]+)\)/g,
    )) {
      const target = path === "" ? `/${addressOf(file)}` : resolveLink(file, path);
      if (!anchors.get(target ?? "")?.has(anchor)) dead.push(`${file}: ${path}#${anchor}`);
      count += 1;
    }
  }
  assert.deepEqual(dead, []);
  assert.ok(count > 40, "anchors are found");
});

test("a link leads to the page's place on the site; to what the site has not, it leads nowhere", () => {
  assert.equal(resolveLink("docs/systems/rag-r1.md", "../data.md#formats"), "/data.md#formats");
  assert.equal(resolveLink("docs/gpu.md", "../ARCHITECTURE.md"), "/architecture.md");
  assert.equal(resolveLink("docs/quantised.md", "../native/ops/quant/quant_weight.h"), undefined);
  assert.equal(resolveLink("docs/data.md", "#formats"), "#formats");
});

test("an anchor is the one that GitHub makes", () => {
  const made = ["A run's folder", "`eval compare`, twice", "Ranks & roles", "Größe 2"].map(anchorOf);
  assert.deepEqual(made, ["a-runs-folder", "eval-compare-twice", "ranks--roles", "größe-2"]);
});

test("of a site under a path, links that leave the path are dead", () => {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
  mkdirSync(join(folder, "systems"));
  writeFileSync(
    join(folder, "index.html"),
    `<a href="/seekrl/systems/a.html">a</a><a href="/systems/a.html">b</a><img src="/seekrl/gone.png">`,
  );
  writeFileSync(
    join(folder, "systems", "a.html"),
    `<a href="../index.html">a</a><a href="/seekrl/">b</a><a href="../../index.html">c</a><script src="/a.js"></script>`,
  );
  assert.deepEqual(findFaults(folder, "/seekrl/").sort(), [
    "index.html: /seekrl/gone.png is missing",
    "index.html: nothing is at /systems/a.html",
    "systems/a.html: /a.js is missing",
    "systems/a.html: nothing is at ../../index.html",
  ]);
  rmSync(folder, { recursive: true });
});

test("dead links, dead anchors and requests that leave the site are found in built pages", () => {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-"));
  mkdirSync(join(folder, "api"));
  writeFileSync(
    join(folder, "index.html"),
    `<a href="/other.html#part">a</a><a href="/other.html#gone">b</a><a class="x" href="gone.html">c</a>
     <a href="api/">d</a><a href="https://example.org/">e</a><script src="https://example.org/a.js"></script>
     <img src="gone.png"><img src="data:image/png;base64,AA==">`,
  );
  writeFileSync(
    join(folder, "other.html"),
    `<h2 id="part">Part</h2><a href="#part">a</a><a href="#no">b</a>`,
  );
  writeFileSync(join(folder, "api", "index.html"), `<a href="../index.html">a</a>`);
  writeFileSync(join(folder, "style.css"), `@font-face { src: url("//example.org/font.woff2") }`);
  assert.deepEqual(findFaults(folder).sort(), [
    "index.html: gone.png is missing",
    "index.html: loads https://example.org/a.js from elsewhere",
    "index.html: nothing is at /other.html#gone",
    "index.html: nothing is at gone.html",
    "other.html: nothing is at #no",
    "style.css: loads something from elsewhere",
  ]);
  rmSync(folder, { recursive: true });
});
