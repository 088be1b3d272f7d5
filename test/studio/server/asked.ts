/** A studio over folders of a test, and requests to it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServeOptions } from "../../../apps/serve/http/http-server.ts";
import { type StudioOptions, serveStudio } from "../../../apps/studio/studio.ts";

/** What a studio is asked with. */
export interface Asked {
  readonly url: string;
  /** The answer of a path below the API's root, which must be 200. */
  get<Answer>(path: string): Promise<Answer>;
  /** The status and the words of a refusal, or of an answer. */
  status(path: string, init?: RequestInit): Promise<{ status: number; message: string }>;
  post<Answer>(path: string, body: object): Promise<Answer>;
}

/** The body of an answer that may be a refusal. */
interface Refused {
  readonly error?: { readonly message: string };
}

/** A folder that is gone after the test. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-studio-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Serves a studio on a free port while it is used. */
export async function withStudio(
  options: Omit<StudioOptions, "access">,
  use: (asked: Asked) => Promise<void>,
  served: ServeOptions = {},
): Promise<void> {
  await using server = await serveStudio(options, { port: 0, ...served });
  const at = (path: string): string => `${server.url}/api/studio${path}`;
  const answer = async (path: string, init?: RequestInit): Promise<{ status: number; body: Refused }> => {
    const response = await fetch(at(path), init);
    const body = (await response.json()) as Refused;
    return { status: response.status, body };
  };
  const post = (body: object): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const whole = async <Answer>(path: string, init?: RequestInit): Promise<Answer> => {
    const { status, body } = await answer(path, init);
    if (status !== 200) throw new Error(`${path}: ${status}: ${JSON.stringify(body)}`);
    return body as unknown as Answer;
  };
  await use({
    url: server.url,
    get: (path) => whole(path),
    post: (path, body) => whole(path, post(body)),
    status: async (path, init) => {
      const { status, body } = await answer(path, init);
      return { status, message: body.error?.message ?? "" };
    },
  });
}
