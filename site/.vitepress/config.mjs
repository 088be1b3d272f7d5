/** How VitePress makes the site: pages and sidebar from the table, links as they stand in the project's files. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { addressOf, anchorOf, files, headingOf, resolveLink, root, sections } from "../pages.mjs";

const sidebar = sections.map(({ title, pages, isClosed = false }) => ({
  text: title,
  collapsed: isClosed,
  items: pages.map(([file, text = headingOf(file)]) => ({ text, link: `/${addressOf(file)}` })),
}));

function fileOf(path) {
  return relative(root, path).split(sep).join("/");
}

/** Links lead to pages of the site; those to other files of the project become plain text. */
function followLinks(md) {
  md.core.ruler.push("project-links", ({ tokens, env }) => {
    for (const { children } of tokens) if (children) followEach(children, fileOf(env.realPath ?? env.path));
  });
}

function followEach(tokens, file) {
  let isDropped = false;
  for (const token of tokens) {
    if (token.type === "link_open") {
      const href = token.attrGet("href");
      const target = /^[a-z]+:/.test(href) ? href : resolveLink(file, href);
      isDropped = target === undefined;
      if (!isDropped) token.attrSet("href", target);
    }
    if (isDropped && token.type.startsWith("link_")) Object.assign(token, { type: "text", content: "" });
  }
}

/** Pictures that are drawn stand in the page itself, whose theme colours them; photographs stay files. */
function drawPictures(md) {
  const show = md.renderer.rules.image;
  md.renderer.rules.image = (tokens, i, options, env, self) => {
    const source = tokens[i].attrGet("src");
    if (!source.endsWith(".svg")) return show(tokens, i, options, env, self);
    const svg = readFileSync(join(dirname(env.realPath ?? env.path), source), "utf8");
    return `<span class="picture" v-html="${md.utils.escapeHtml(JSON.stringify(svg))}"></span>`;
  };
}

/** What holds no page: every folder beside docs, where Markdown may lie that a build or a run has written. */
const others = readdirSync(root)
  .filter((name) => !name.endsWith(".md") && !["docs", "bench"].includes(name))
  .map((name) => `${name}/**`);

/** TypeDoc's pages are none of VitePress', which would look for them among its own. */
const api = { text: "The library", link: "/api/index.html", target: "_self" };
sidebar.find(({ text }) => text === "Reference").items.push(api);

/** The repository, which a workflow knows by its name. */
const { GITHUB_REPOSITORY: repository } = process.env;
const clone = { text: "Repository", link: `https://github.com/${repository}` };

/** Where the site stands on its server, as site/build.mjs says. */
const base = process.env.SEEKRL_SITE_BASE ?? "/";

export default {
  title: "SeekRL",
  base,
  head: [["link", { rel: "icon", href: `${base}icon.svg` }]],
  description: "Trains and serves language models that reason with search.",
  srcDir: "..",
  outDir: "../dist/site",
  cacheDir: "../node_modules/.cache/seekrl-site",
  srcExclude: [...others, "bench/!(results)/**"],
  rewrites: (file) => (files.includes(file) ? addressOf(file) : file),
  // What stands in angle brackets in the project's pages is text.
  markdown: {
    html: false,
    anchor: { slugify: anchorOf },
    config: (md) => md.use(followLinks).use(drawPictures),
  },
  // The largest file is the index of the search, which is loaded when somebody searches.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    sidebar,
    nav: repository === undefined ? [api] : [api, clone],
    outline: [2, 3],
    search: { provider: "local" },
    docFooter: { prev: "Before", next: "Next" },
  },
};
