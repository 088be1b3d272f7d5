/** The paths of the index: what it holds, a search that says why, counts over its passages. */
import { z } from "zod";
import type { Route } from "../../serve/http/http-server.ts";
import { Refusal } from "../../serve/http/refusal.ts";
import type { StudioIndex } from "../search/studio-index.ts";
import { getRoute, postRoute } from "./studio-route.ts";

const searchBody = z.strictObject({
  query: z.string().trim().min(1).max(10_000),
  topK: z.int().min(1).max(100).optional(),
  mode: z.enum(["bm25", "dense", "hybrid"]).optional(),
});

/** All paths of the index; without one they say so. */
export function indexRoutes(index: StudioIndex | undefined): Route[] {
  const opened = (): StudioIndex => {
    if (index !== undefined) return index;
    throw new Refusal("not_found", "index: the studio was started without one (--index)");
  };
  return [
    getRoute("/index", () => opened().describe()),
    getRoute("/index/report", () => opened().report()),
    postRoute("/index/search", searchBody, (body) => opened().search(body)),
  ];
}
