/** `GET /v1/models` of a worker: what it serves, and whether it is there at all. */
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import type { Endpoint } from "../../remote/endpoint.ts";

const modelList = lazySchema((z) =>
  z.looseObject({
    data: z
      .array(
        z.looseObject({
          id: z.string(),
          owned_by: z.string().nullish(),
          max_model_len: z.int().nullish(),
        }),
      )
      .min(1),
  }),
);

/**
 * What a server says of its first model.
 *
 * @param endpoint - its root; one that does not wait long, so that a server that is gone holds nobody up
 * @throws ERR_REMOTE; ERR_ABORTED
 */
export async function firstModel(endpoint: Endpoint, signal?: AbortSignal) {
  const url = endpoint.at("v1", "models");
  const { data } = await endpoint.call({ url, method: "GET", expect: modelList(), signal });
  const [first] = data as [(typeof data)[number]];
  return first;
}
