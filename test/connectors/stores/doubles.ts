/** Stand-ins for Elasticsearch and Qdrant that answer in the shapes of their documentation; no server runs here. */
import type { Asked } from "../remote/fault-server.ts";

interface Document {
  readonly title: string;
  readonly text: string;
  readonly embedding?: number[];
}

const words = (text: string): string[] => text.toLowerCase().match(/\w+/g) ?? [];

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}

function best<Item>(items: readonly Item[], score: (item: Item) => number, count: number): [Item, number][] {
  const scored = items.map((item): [Item, number] => [item, score(item)]);
  return scored
    .filter(([, value]) => value > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, count);
}

interface SearchBody {
  readonly size: number;
  readonly query?: { readonly multi_match: { readonly query: string } };
  readonly knn?: { readonly field: string; readonly query_vector: number[] };
}

/** An index of documents: `PUT /i`, `POST /i/_bulk`, `_refresh`, `_search`. */
export function elasticsearchReply(documents = new Map<string, Document>()): (asked: Asked) => unknown {
  const search = ({ size, query, knn }: SearchBody): unknown => {
    const asked = words(query?.multi_match.query ?? "");
    const score = ([, { title, text, embedding = [] }]: [string, Document]): number =>
      knn
        ? dot(embedding, knn.query_vector)
        : words(`${title} ${text}`).filter((word) => asked.includes(word)).length;
    const hits = best([...documents], score, size).map(([[id, { title, text }], value]) => {
      return { _index: "people", _id: id, _score: value, _source: { title, text } };
    });
    const total = { value: hits.length, relation: "eq" };
    const shards = { total: 1, successful: 1, skipped: 0, failed: 0 };
    return {
      took: 3,
      timed_out: false,
      _shards: shards,
      hits: { total, max_score: hits[0]?._score ?? null, hits },
    };
  };
  const bulk = (body: string): unknown => {
    const lines = body
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const items = [];
    for (let i = 0; i < lines.length; i += 2) {
      const { _id: id } = lines[i]!.index as { _id: string };
      documents.set(id, lines[i + 1] as unknown as Document);
      items.push({ index: { _index: "people", _id: id, _version: 1, result: "created", status: 201 } });
    }
    return { took: 30, errors: false, items };
  };
  return ({ method, url, body }) => {
    if (method === "PUT") return { acknowledged: true, shards_acknowledged: true, index: "people" };
    if (url.endsWith("/_bulk")) return bulk(body as string);
    if (url.endsWith("/_refresh")) return { _shards: { total: 2, successful: 1, failed: 0 } };
    return search(body as SearchBody);
  };
}

interface Point {
  readonly id: string;
  readonly vector: number[];
  readonly payload: object;
}

/** A collection of points: `PUT /collections/c`, `PUT .../points?wait=true`, `POST .../points/query/batch`. */
export function qdrantReply(points = new Map<string, Point>()): (asked: Asked) => unknown {
  const done = { status: "ok", time: 0.0002 };
  return ({ url, body }) => {
    if (url.endsWith("/points?wait=true")) {
      for (const point of (body as { points: Point[] }).points) points.set(point.id, point);
      return { ...done, result: { operation_id: 0, status: "completed" } };
    }
    if (!url.endsWith("/points/query/batch")) return { ...done, result: true };
    const { searches } = body as { searches: { query: number[]; limit: number }[] };
    const result = searches.map(({ query, limit }) => ({
      points: best([...points.values()], ({ vector }) => dot(vector, query), limit).map(
        ([{ id, payload }, score]) => {
          return { id, version: 0, score, payload };
        },
      ),
    }));
    return { ...done, result };
  };
}
