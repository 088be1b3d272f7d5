/** Where a passage that was found stands. */
import type { FoundPassage } from "../../reply/reply.ts";

/** Its address; one without is named by its id, encoded so that any id makes a valid address. */
export function passageUrl({ id, url }: Pick<FoundPassage, "id" | "url">): string {
  return url ?? `passage:${encodeURIComponent(id)}`;
}
