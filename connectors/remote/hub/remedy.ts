/** What may help where the hub refuses, has no such thing, or does not answer. */
import { codeOf, SeekError } from "../../../lib/base/errors.ts";
import { Fault } from "../fault.ts";
import type { Hub } from "../files/hub.ts";
import type { HubPlace } from "./hub-place.ts";

/** The page on which a user accepts its terms. */
function pageOf({ kind, id }: HubPlace, { endpoint }: Hub): string {
  return kind === "model" ? `${endpoint}/${id}` : `${endpoint}/datasets/${id}`;
}

/** The hub lists what is gated to everybody, and refuses its files. */
function refusalHint(status: number, place: HubPlace, hub: Hub, isListed: boolean): string {
  if (status === 403 || isListed)
    return `accept its terms at ${pageOf(place, hub)}, with HF_TOKEN of that user`;
  const opens =
    hub.token === undefined ? "opens what is private or gated" : "must be of a user who may read it";
  return `check the name; HF_TOKEN ${opens}`;
}

function hintOf(status: number | undefined, place: HubPlace, hub: Hub, isListed: boolean): string {
  if (status === 401 || status === 403) return refusalHint(status, place, hub, isListed);
  const [what, path] = place.kind === "model" ? ["model", "folder"] : ["data set", "file"];
  if (status === 404) return `a ${what} and a revision that ${hub.endpoint} has, or the path of a ${path}`;
  if (isListed) return "the same call again, which goes on with what is missing";
  return "HF_HUB_OFFLINE=1 takes what was fetched before; HF_ENDPOINT names a mirror";
}

/**
 * An error of the hub's with its remedy; any other as it is.
 *
 * @param error - whatever was caught
 * @param isListed - whether the hub has said what the repository holds
 */
export function withRemedy(error: unknown, place: HubPlace, hub: Hub, isListed: boolean): unknown {
  if (codeOf(error) !== "ERR_REMOTE") return error;
  const status = error instanceof Fault ? error.status : undefined;
  const hint = hintOf(status, place, hub, isListed);
  const message = `${place.id}@${place.revision}: ${(error as Error).message}. Remedy: ${hint}`;
  return new SeekError("ERR_REMOTE", message, { cause: error });
}
