/** `POST /v1/feedback`: what a reply was worth. */
import { lazySchema } from "../../base/on-first-use.ts";
import type { ApiLimits } from "../api/fields/serving.ts";
import type { Call } from "../http/call.ts";
import type { Route } from "../http/http-server.ts";
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

/** The route; each choice is scored once. */
export function feedbackRoutes(recorder: Recorder, limits: ApiLimits): Route[] {
  const handle = async (call: Call): Promise<void> => {
    const body = await call.read(feedback(), limits);
    await recorder.score(body.response_id, body.choice, body.reward);
    call.answer({ object: "feedback", ...body });
  };
  return [{ method: "POST", path: "/v1/feedback", dialect: "error", handle }];
}
