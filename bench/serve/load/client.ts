/** A client that costs next to nothing: it writes requests to a socket, and of answers looks only for their end. */
import { connect, type Socket } from "node:net";

/** How an answer ended. */
export interface Answer {
  readonly status: number;
  /** Of a stream that was told whole: tokens, as its usage says. */
  readonly numTokens: number;
  /** Milliseconds from the request to the first byte that is an event with text. */
  readonly firstMs: number;
  readonly numBytes: number;
}

/** Bytes of an answer's end that are looked at: usage and `[DONE]` stand there. */
const tailBytes = 700;

const doneMark = Buffer.from("data: [DONE]");

/** The text of a request. */
export function requestText(path: string, body: object): string {
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json`;
  return `${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** A chat completion that is streamed, with its usage at the end. */
export function chatText(content: string, body: object = {}): string {
  return requestText("/v1/chat/completions", {
    model: "m",
    messages: [{ role: "user", content }],
    stream: true,
    stream_options: { include_usage: true },
    ...body,
  });
}

/** One connection that asks one thing after the other. */
export class Client {
  readonly socket: Socket;
  readonly #textMark: Buffer;
  #onData: (part: Buffer) => void = () => {};
  #onLost: (error: Error) => void = () => {};

  /** @param textMark - what stands before the text of an event */
  constructor(url: URL, textMark = '"content":"') {
    this.#textMark = Buffer.from(textMark);
    this.socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    this.socket.on("data", (part) => this.#onData(part));
    this.socket.on("error", (error) => this.#onLost(error));
    this.socket.on("close", () =>
      this.#onLost(new Error("the connection was closed before the answer's end")),
    );
  }

  /** Asks for a stream and waits for its `[DONE]`. */
  async stream(request: string): Promise<Answer> {
    const asked = performance.now();
    let [status, firstMs, numBytes, numEmpty] = [0, 0, 0, 0];
    let tail: Buffer = Buffer.alloc(0);
    await new Promise<void>((resolve, reject) => {
      this.#onLost = reject;
      this.#onData = (part) => {
        if (status === 0) status = Number(part.toString("latin1", 9, 12));
        if (firstMs === 0 && hasText(part, this.#textMark)) firstMs = performance.now() - asked;
        numBytes += part.length;
        tail =
          part.length >= tailBytes
            ? part.subarray(-tailBytes)
            : Buffer.concat([tail, part]).subarray(-tailBytes);
        if (tail.includes("0\r\n\r\n", tail.length - 5)) resolve();
        else if (status !== 200) numEmpty += 1;
        if (status !== 200 && numEmpty > 0) resolve();
      };
      this.socket.write(request);
    });
    if (status === 200 && !tail.includes(doneMark)) throw new Error(`no [DONE]: ${tail}`);
    const numTokens = Number(/"completion_tokens":(\d+)/.exec(tail.toString("latin1"))?.[1] ?? 0);
    return { status, numTokens, firstMs, numBytes };
  }

  close(): void {
    this.#onLost = () => {};
    this.socket.destroy();
  }
}

/** Whether a part of an answer has text that is not empty. */
function hasText(part: Buffer, mark: Buffer): boolean {
  let at = part.indexOf(mark);
  while (at >= 0) {
    if (part[at + mark.length] !== 0x22) return true;
    at = part.indexOf(mark, at + 1);
  }
  return false;
}
