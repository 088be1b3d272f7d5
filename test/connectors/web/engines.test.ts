/** Requests and answers of the web's search engines, in the shapes of their documentation; no live engine. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { engineShapes, type WebEngine } from "../../../connectors/web/engines.ts";
import { type WebSearchOptions, webSearch } from "../../../connectors/web/web-search.ts";
import { type Asked, startFaultServer } from "../remote/fault-server.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const key = "k3y-of-a-test";
const wanted = [
  {
    id: "https://en.wikipedia.org/wiki/Paris",
    title: "Paris",
    text: "Paris is the capital & largest city.",
    score: 1,
  },
  { id: "https://example.org/f", title: "France", text: "", score: 1 / 2 },
];
const [paris, france] = wanted.map(({ id, title, text }) => ({ link: id, title, snippet: text })) as [
  { link: string; title: string; snippet: string },
  { link: string; title: string; snippet: string },
];
const asUrl = ({ link: url, title, snippet }: typeof paris) => ({ url, title, snippet });

/** An answer as documented, with fields that nobody needs, and what must have been asked. */
const cases: Record<WebEngine, { answer: object; asked: (one: Asked) => unknown; expected: unknown }> = {
  serper: {
    answer: {
      searchParameters: { q: "capital of France", type: "search", num: 2 },
      answerBox: { snippet: "Paris" },
      organic: [
        { ...paris, position: 1 },
        { title: france.title, link: france.link, position: 2 },
      ],
      relatedSearches: [{ query: "x" }],
      credits: 1,
    },
    asked: ({ method, headers, body }) => [method, headers["x-api-key"], body],
    expected: ["POST", key, { q: "capital of France site:en.wikipedia.org", num: 2 }],
  },
  serpapi: {
    answer: {
      search_metadata: { id: "1", status: "Success" },
      organic_results: [
        { position: 1, ...paris, displayed_link: "d" },
        { position: 2, ...france },
      ],
    },
    asked: ({ method, url }) => [method, Object.fromEntries(new URL(url, "http://x").searchParams)],
    expected: [
      "GET",
      { engine: "google", q: "capital of France site:en.wikipedia.org", num: "2", api_key: key },
    ],
  },
  google: {
    answer: { kind: "customsearch#search", items: [{ kind: "customsearch#result", ...paris }, france] },
    asked: ({ method, url }) => [method, Object.fromEntries(new URL(url, "http://x").searchParams)],
    expected: ["GET", { q: "capital of France site:en.wikipedia.org", num: "2", key, cx: "my-engine" }],
  },
  brave: {
    answer: {
      type: "search",
      web: {
        type: "search",
        results: [
          {
            url: paris.link,
            title: "<strong>Paris</strong>",
            description: "Paris is the <strong>capital</strong> &amp; largest city.",
          },
          { url: france.link, title: "France" },
        ],
      },
    },
    asked: ({ method, url, headers }) => {
      const { searchParams } = new URL(url, "http://x");
      return [method, headers["x-subscription-token"], Object.fromEntries(searchParams)];
    },
    expected: ["GET", key, { q: "capital of France site:en.wikipedia.org", count: "2" }],
  },
  tavily: {
    answer: {
      query: "capital of France",
      answer: null,
      results: [paris, france].map(asUrl).map(({ url, title, snippet }, i) => {
        return { url, title, content: snippet, score: 1 / (i + 1), raw_content: null };
      }),
      response_time: 0.5,
    },
    asked: ({ method, headers, body }) => [method, headers.authorization, body],
    expected: [
      "POST",
      `Bearer ${key}`,
      { query: "capital of France", max_results: 2, include_domains: ["en.wikipedia.org"] },
    ],
  },
  bocha: {
    answer: {
      code: 200,
      log_id: "1",
      msg: null,
      data: {
        _type: "SearchResponse",
        webPages: {
          totalEstimatedMatches: 2,
          value: [
            {
              id: "0",
              name: paris.title,
              url: paris.link,
              snippet: "short",
              summary: paris.snippet,
              siteName: null,
            },
            { id: "1", name: france.title, url: france.link, snippet: "", summary: null },
          ],
        },
      },
    },
    asked: ({ method, headers, body }) => [method, headers.authorization, body],
    expected: [
      "POST",
      `Bearer ${key}`,
      {
        ...{ query: "capital of France", count: 2, page: 1, freshness: "noLimit", summary: true },
        include: "en.wikipedia.org",
      },
    ],
  },
};

process.env.GOOGLE_CSE_ID = "my-engine";

for (const engine of Object.keys(cases) as WebEngine[]) {
  const { answer, asked, expected } = cases[engine];
  test(`${engine} is asked and understood as its documentation says`, async () => {
    await using server = await startFaultServer(() => answer);
    const { keyEnv } = engineShapes[engine];
    process.env[keyEnv] = key;
    const search = webSearch({ engine, site: "en.wikipedia.org", url: `${server.url}/v1` });
    delete process.env[keyEnv];
    assert.deepEqual(await search(["capital of France"], { topK: 2 }), [wanted]);
    assert.deepEqual(server.asked.map(asked), [expected]);

    server.script.push({ status: 401, body: `unknown key ${key}` });
    await assert.rejects(search(["x"], { topK: 2 }), (error: Error) => {
      assert.match(
        error.message,
        /^http:\/\/127\.0\.0\.1:\d+\/v1: expected status 200, got 401: unknown key \*\*\*$/,
      );
      return true;
    });
    assert.throws(() => webSearch({ engine }), {
      code: "ERR_ARGUMENT",
      message: new RegExp(`^${keyEnv}: expected`),
    });
  });
}

test("an answer without results is no failure, one of another shape is", async () => {
  const empty: Record<WebEngine, object> = {
    serper: { searchParameters: {} },
    serpapi: { search_metadata: {} },
    google: { kind: "customsearch#search" },
    brave: { type: "search" },
    tavily: { results: [] },
    bocha: { code: 200, data: { webPages: null } },
  };
  for (const engine of Object.keys(empty) as WebEngine[]) {
    await using server = await startFaultServer(() => empty[engine]);
    const search = webSearch({ engine, apiKey: key, url: server.url });
    assert.deepEqual(await search(["x", "y"], { topK: 3 }), [[], []], engine);
  }
  await using server = await startFaultServer(() => ({ organic: "none" }));
  const search = webSearch({ engine: "serper", apiKey: key, url: server.url });
  await assert.rejects(search(["x"], { topK: 3 }), {
    code: "ERR_REMOTE",
    message: /organic: Invalid input: expected array/,
  });
});

test("more results than an engine gives, unknown engines and missing ids are refused at once", async () => {
  const options: WebSearchOptions = { engine: "google", apiKey: key, url: "http://127.0.0.1:1" };
  const message = "topK: google gives 1 to 10 pages, got 11";
  await assert.rejects(webSearch(options)(["x"], { topK: 11 }), { code: "ERR_RANGE", message });
  assert.throws(() => webSearch({ engine: "yahoo" as "google", apiKey: key }), { message: /got yahoo/ });
  delete process.env.GOOGLE_CSE_ID;
  assert.throws(() => webSearch(options), { code: "ERR_ARGUMENT", message: /^GOOGLE_CSE_ID/ });
});

test("an answer is paid for once", async () => {
  await using server = await startFaultServer(() => cases.serper.answer);
  const cache = { folder: join(folder, "answers") };
  const options: WebSearchOptions = { engine: "serper", apiKey: key, url: server.url, cache };
  const first = await webSearch(options)(["q"], { topK: 2 });
  assert.deepEqual(await webSearch(options)(["q"], { topK: 2 }), first);
  assert.equal(server.asked.length, 1);
  await webSearch({ ...options, site: "a.org" })(["q"], { topK: 2 });
  await webSearch(options)(["q"], { topK: 1 });
  assert.equal(server.asked.length, 3, "another site or count is another question");
});
