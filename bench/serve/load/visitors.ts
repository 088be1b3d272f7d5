/** Clients of every kind, well-behaved and not; each tells how it was answered. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../../../lib/base/random.ts";
import { questionOf, temperature } from "./asked.ts";
import { Client, chatText, requestText } from "./client.ts";

/** How a visit went; a sentence where it went wrong. */
export type Visit = (url: URL, dice: Dice) => Promise<string | undefined>;

const path = "/v1/chat/completions";

function question(dice: Dice): string {
  return questionOf(Math.floor(1000 * dice.next()), Math.floor(1000 * dice.next()));
}

/** Asks for a stream and takes it as it comes. */
async function reads(url: URL, dice: Dice): Promise<string | undefined> {
  const client = new Client(url);
  const { status, numTokens } = await client.stream(
    chatText(question(dice), { max_tokens: 128, temperature }),
  );
  client.close();
  return status === 200 && numTokens > 0 ? undefined : `status ${status}, ${numTokens} tokens`;
}

/** Asks for more than sockets hold, and takes nothing for a while, several times. */
async function readsSlowly(url: URL, dice: Dice): Promise<string | undefined> {
  const client = new Client(url);
  const body = { max_tokens: 900, n: 4, logprobs: true, top_logprobs: 20, temperature };
  const answer = client.stream(chatText(question(dice), body));
  for (let pause = 0; pause < 6; pause++) {
    client.socket.pause();
    await sleep(400);
    client.socket.resume();
    await sleep(5);
  }
  const { status, numTokens } = await answer;
  client.close();
  return status === 200 && numTokens > 0 ? undefined : `status ${status}, ${numTokens} tokens`;
}

/** Leaves at some moment: while it asks, before the first token, in the middle of a stream, or of an answer in one piece. */
async function leaves(url: URL, dice: Dice): Promise<undefined> {
  const socket = await opened(url);
  const text = chatText(question(dice), { max_tokens: 900, temperature, stream: dice.next() < 0.7 });
  const isCut = dice.next() < 0.2;
  socket.write(isCut ? text.slice(0, Math.floor(text.length * dice.next())) : text);
  await sleep(600 * dice.next() ** 3);
  socket.destroy();
}

/** What nobody should send, and the status that it deserves. */
const malformed: readonly (readonly [text: string, status: number])[] = [
  [requestText(path, "not an object" as unknown as object), 400],
  [requestText(path, { messages: [] }), 400],
  [requestText(path, { messages: [{ role: "nobody", content: 7 }] }), 400],
  [requestText(path, { messages: [{ role: "user", content: "a" }], max_tokens: -1 }), 400],
  [requestText(path, { messages: [{ role: "user", content: "a" }], temperature: "hot" }), 400],
  [requestText(path, { messages: [{ role: "user", content: "a" }], of_nobody: 1 }), 400],
  [requestText(path, { messages: [{ role: "user", content: "a ".repeat(4000) }] }), 400],
  [
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a": [[[`,
    400,
  ],
  [
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n\xff\xfe\x00\x01`,
    400,
  ],
  ["GARBAGE\r\n\r\n", 400],
  ["GET /v1/nothing HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 404],
];

/** Sends what nobody should. */
async function errs(url: URL, dice: Dice): Promise<string | undefined> {
  const [text, status] = malformed[Math.floor(malformed.length * dice.next())]!;
  const socket = await opened(url);
  socket.write(text, "latin1");
  const [part] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  const got = Number(part.toString("latin1", 9, 12));
  return got === status ? undefined : `status ${got} where ${status} was due, for ${text.slice(-60)}`;
}

async function opened(url: URL): Promise<Socket> {
  const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
  await once(socket, "connect");
  // What comes after this side has left.
  socket.on("error", () => {});
  return socket;
}

/** By what they do. */
export const visits = { reads, readsSlowly, leaves, errs } as const satisfies Record<string, Visit>;
