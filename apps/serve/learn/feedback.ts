/** `POST /v1/feedback`: what a reply was worth. */
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import type { ApiLimits } from "../api/fields/serving.ts";
import type { Call } from "../http/call.ts";
import type { Route } from "../http/http-server.ts";
import { absent } from "../http/refusal.ts";
import { mostReward, type Recorder } from "./recorder.ts";

const feedback = lazySchema((z) =>
  z.strictObject({
    /** The `id` of a completion, response or message. */
    response_id: z.string().min(1).max(128),
    /** Of its choices. */
    choice: z.int().min(0).default(0),
    reward: z.number().min(-mostReward).max(mostReward),
  }),
);

/** The route; each choice is scored once. Without a recorder nothing can be scored, and it says so. */
export function feedbackRoutes(recorder: Recorder | undefined, limits: ApiLimits): Route[] {
  const path = "/v1/feedback";
  const route = { method: "POST", path, dialect: "error" } as const;
  if (recorder === undefined) return [{ ...route, handle: absent(path, "--record or --learn") }];
  const handle = async (call: Call): Promise<void> => {
    const body = await call.read(feedback(), limits);
    await recorder.score(body.response_id, body.choice, body.reward);
    call.answer({ object: "feedback", ...body });
  };
  return [{ ...route, handle }];
}
