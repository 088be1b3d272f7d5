/** The thread that turns pages into text: a large page takes a second, which would block the event loop. */
import { parentPort } from "node:worker_threads";
import { messageOf } from "../../lib/base/errors.ts";
import type { TitledText } from "../../lib/text/observation.ts";
import { pageText } from "./page-text.ts";

/** What came of a page. */
export type TextReply = { readonly page: TitledText } | { readonly failure: string };

parentPort?.on("message", (html: string) => {
  let reply: TextReply;
  try {
    reply = { page: pageText(html) };
  } catch (error) {
    reply = { failure: messageOf(error) };
  }
  parentPort?.postMessage(reply);
});
