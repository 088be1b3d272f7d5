/** Chat in the studio's page: with a real model over the model server, and with what agents send besides. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import { agentModel } from "../../apps/serve/agent/agent-model.ts";
import type { HttpServer } from "../../apps/serve/http/http-server.ts";
import { serveModels } from "../../apps/serve/model/model-server.ts";
import { languageModels } from "../../apps/serve/model/open-models.ts";
import { Studio } from "../../apps/studio/studio.ts";
import { librarySearch } from "../../apps/world/library.ts";
import { worldRecipe } from "../../apps/world/recipes/world.ts";
import { createWorld } from "../../apps/world/world.ts";
import { openLocalPolicy } from "../../lib/engine/local-policy.ts";
import { checkpoint, until } from "../serve/model/served.ts";
import { buildPage, openBrowser, openPage, whyNoBrowser } from "./browser.ts";
import { storedText } from "./looks.ts";

const skip = whyNoBrowser;
const { passages } = createWorld({ seed: 0 });
/** A passage that answers a question, and the question. */
const film = passages.find(({ text }) => text.startsWith("Directed by "))!;
const asked = `Who directed ${film.title}?`;
let [server, browser, policy, studio] = [] as unknown as [
  HttpServer,
  Browser,
  Awaited<ReturnType<typeof openLocalPolicy>>,
  Studio,
];

before(async () => {
  if (skip) return;
  buildPage();
  policy = await openLocalPolicy({ model: checkpoint }, {});
  const { engine, tokenizer, chatTemplate } = policy;
  const parts = { engine, tokenizer, chatTemplate };
  const plain = languageModels({ name: "world", ...parts });
  const recipe = worldRecipe({ queries: "multi" });
  const contextTokens = engine.maxTokens;
  const agent = agentModel({
    id: "agent/world",
    ...parts,
    recipe,
    search: librarySearch(passages),
    contextTokens,
  });
  const models = [...plain, agent];
  studio = await Studio.open({ roots: [], mounted: { serve: true, feedback: true } });
  server = await serveModels({ models, port: 0, mounted: studio.routes });
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close({ graceMs: 0 });
  studio?.close();
  await policy?.[Symbol.asyncDispose]();
});

/** Opens the chat, and checks at the end that no request left the machine. */
async function chat(
  look: (page: Page) => Promise<void>,
  prepare: (page: Page) => Promise<void> = async () => {},
): Promise<void> {
  const { page, requests, complaints } = await openPage(browser);
  try {
    await prepare(page);
    await page.goto(`${server.url}/studio/#/chat`);
    await look(page);
    assert.deepEqual([complaints, requests.filter((url) => !url.startsWith(server.url))], [[], []]);
  } finally {
    await page.context().close();
  }
}

const replies = (page: Page) => page.locator(".message.assistant");

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until the last reply is whole. */
async function settled(page: Page): Promise<void> {
  await replies(page).last().getByRole("button", { name: "Reply again" }).waitFor();
}

test(
  "a reply of a model is written as it comes, is asked for again and edited, each beside the last",
  { skip },
  () =>
    chat(async (page) => {
      await page.getByRole("button", { name: "Parameters" }).click();
      await page.getByLabel("Most tokens").fill("40");
      await say(page, "Who founded Evertech?");
      await settled(page);
      const text = await replies(page).last().locator(".reply").textContent();
      assert.notEqual((text ?? "").trim(), "");
      await page.getByText(/\d+ written/).waitFor();
      await page.getByRole("button", { name: "Reply again" }).click();
      await replies(page).getByText("2/2").waitFor();
      await settled(page);
      await page.getByRole("button", { name: "Earlier version" }).click();
      await replies(page).getByText("1/2").waitFor();
      assert.equal(await replies(page).last().locator(".reply").textContent(), text);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Edited message" }).fill("Where was Barodra born?");
      await page.locator(".edit-message").getByRole("button", { name: "Send" }).click();
      await page.locator(".bubble", { hasText: "Barodra" }).waitFor();
      await page.locator(".message.user").getByText("2/2").waitFor();
    }),
);

test("a conversation is there again after the page was closed", { skip }, () =>
  chat(async (page) => {
    await page.getByRole("button", { name: "Parameters" }).click();
    await page.getByLabel("Most tokens").fill("4");
    await say(page, "Remember this line");
    await settled(page);
    await until(async () => (await storedText(page, "seekrl.chats")).includes("Remember this line"));
    await page.reload();
    await page.locator(".bubble", { hasText: "Remember this line" }).waitFor();
  }),
);

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-7", choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;

test(
  "an agent thinks, searches and cites; a citation opens the passage with the quote marked",
  { skip },
  () =>
    chat(async (page) => {
      await page.getByLabel("Model", { exact: true }).selectOption("agent/world");
      await page.getByRole("button", { name: "Parameters" }).click();
      await page.getByLabel("Temperature").fill("0");
      await page.getByLabel("Most searches").fill("4");
      await say(page, asked);
      await settled(page);
      const said = (await replies(page).locator(".prose p").first().textContent()) ?? "";
      const answer = said.replace(/\d$/, "").trim();
      assert.ok(answer !== "" && film.text.includes(answer), said);
      await replies(page).locator(".thoughts").first().waitFor();
      await replies(page)
        .locator(".chat-search")
        .first()
        .getByText(/\d+ passages?$/)
        .waitFor();
      await page.getByRole("button", { name: "Source 1" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("heading", { name: film.title }).waitFor();
      assert.ok(((await dialog.locator("mark").textContent()) ?? "").includes(answer));
      assert.ok(((await dialog.locator(".passage-text").textContent()) ?? "").includes(film.text));
    }),
);

/** What a model sends, in OpenAI's chunks. */
const shortReply = [
  chunk({ role: "assistant", content: "" }),
  chunk({ content: "Zanikin founded it." }),
  chunk({}, { finish_reason: "stop" }),
  "data: [DONE]\n\n",
].join("");

const replyShortly = (route: Route): Promise<void> =>
  route.fulfill({ contentType: "text/event-stream", body: shortReply });

/** A promise, and how it is kept. */
function promised() {
  let keep = (): void => {};
  const kept = new Promise<void>((resolve) => {
    keep = resolve;
  });
  return { kept, keep };
}

/** Holds what the page asks for a reply back, until it is let go. */
async function holdReply(page: Page, answer: (route: Route) => Promise<void>): Promise<() => void> {
  const { kept, keep } = promised();
  await page.route("**/v1/chat/completions", async (route) => {
    await kept;
    await answer(route);
  });
  return keep;
}

/** The page may have gone. */
const cutOff = (route: Route): Promise<void> => route.abort().catch(() => undefined);

test("a message that is sent before the models are known is sent once they are", { skip }, async () => {
  const { kept, keep } = promised();
  await chat(
    async (page) => {
      await say(page, "Who founded Evertech?");
      await page.getByText("Sent as soon as the models are known").waitFor();
      keep();
      await page.locator(".bubble", { hasText: "Who founded Evertech?" }).waitFor();
      await settled(page);
      assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "");
    },
    async (page) => {
      await page.route("**/v1/models", async (route) => {
        await kept;
        await route.continue();
      });
      await page.route("**/v1/chat/completions", replyShortly);
    },
  );
});

test("a thumb tells the server what the reply was worth", { skip }, () =>
  chat(async (page) => {
    const told: unknown[] = [];
    await page.route("**/v1/chat/completions", replyShortly);
    await page.route("**/v1/feedback", (route) => {
      told.push(route.request().postDataJSON());
      return route.fulfill({ json: {} });
    });
    await say(page, "Who founded Evertech?");
    await settled(page);
    await page.getByRole("button", { name: "Good reply" }).click();
    await page.locator('[aria-label="Good reply"][aria-pressed="true"]').waitFor();
    assert.deepEqual(told, [{ response_id: "chatcmpl-7", reward: 1 }]);
  }),
);

test("a reply is stopped by a button, and what came stays", { skip }, () =>
  chat(async (page) => {
    const letGo = await holdReply(page, cutOff);
    await say(page, "Who founded Evertech?");
    await page.getByRole("button", { name: "Stop the reply" }).click();
    await page.getByText("stopped").waitFor();
    letGo();
    await page.getByRole("button", { name: "Send" }).waitFor();
  }),
);

test("a reply is written in its own conversation, whichever is open meanwhile", { skip }, () =>
  chat(async (page) => {
    const letGo = await holdReply(page, replyShortly);
    await say(page, "Who founded Evertech?");
    await page.getByRole("button", { name: "Stop the reply" }).waitFor();
    await page.getByRole("button", { name: "New chat" }).first().click();
    await page.locator(".bubble").waitFor({ state: "detached" });
    letGo();
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.getByRole("button", { name: "Who founded Evertech?", exact: true }).click();
    await replies(page).getByText("Zanikin founded it.").waitFor();
  }),
);

/** What browsers keep from pages that another machine gave over plain HTTP. */
const withoutSecureContext = `delete Crypto.prototype.randomUUID;
  Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined });`;

test("a page that came over plain HTTP from another machine can chat", { skip }, () =>
  chat(
    async (page) => {
      await page.route("**/v1/chat/completions", replyShortly);
      await say(page, "Who founded Evertech?");
      await settled(page);
      assert.equal(await page.getByRole("button", { name: "Copy" }).count(), 0);
    },
    async (page) => {
      await page.addInitScript(withoutSecureContext);
    },
  ),
);

test("a page that is left while a reply is written keeps what was said so far", { skip }, () =>
  chat(async (page) => {
    const letGo = await holdReply(page, cutOff);
    await say(page, "Who founded Evertech?");
    await page.getByRole("button", { name: "Stop the reply" }).waitFor();
    await page.reload();
    letGo();
    await page.locator(".bubble", { hasText: "Who founded Evertech?" }).waitFor();
  }),
);
