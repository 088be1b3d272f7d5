/** What a shard's server answers under `/shard`. */
import type { z } from "zod";
import { lazySchema } from "../../../lib/base/on-first-use.ts";

/** `GET /shard`: what the index is. */
export const descriptionSchema = lazySchema((z) =>
  z.looseObject({
    digest: z.string(),
    plan: z.string(),
    mode: z.enum(["bm25", "dense", "hybrid"]),
    passages: z.int().min(0),
    live: z.int().min(0),
    exact: z.boolean(),
    terms: z.int().min(0),
    part: z
      .looseObject({
        index: z.int().min(1),
        count: z.int().min(1),
        first: z.int().min(0),
        total: z.int().min(0),
      })
      .optional(),
  }),
);

/** What a shard's index is. */
export type Description = z.output<ReturnType<typeof descriptionSchema>>;

/** `POST /shard/prepare`: document frequencies of each query's terms, and queries as base64 of f32. */
export const preparedSchema = lazySchema((z) =>
  z.looseObject({ frequencies: z.array(z.array(z.number().min(0))), vectors: z.string() }),
);

const columns = lazySchema((z) =>
  z
    .looseObject({ rows: z.array(z.array(z.int().min(0))), scores: z.array(z.array(z.number())) })
    .refine(
      ({ rows, scores }) =>
        rows.length === scores.length && rows.every((own, i) => own.length === scores[i]?.length),
      { error: "expected a score for each row" },
    ),
);

/** `POST /shard/find`: rows, counted from the shard's first, and their scores, best first for each query. */
export const foundSchema = lazySchema((z) =>
  z.looseObject({ words: columns().optional(), vectors: columns().optional() }),
);

/** Rankings of a shard, one for each query. */
export type Columns = z.output<ReturnType<typeof columns>>;

/** `POST /shard/passages`. */
export const passagesSchema = lazySchema((z) =>
  z.looseObject({
    passages: z.array(z.looseObject({ id: z.string(), title: z.string(), text: z.string() })),
  }),
);

/** `GET /health` of a server that answers. */
export const healthSchema = lazySchema((z) => z.looseObject({ status: z.literal("healthy") }));
