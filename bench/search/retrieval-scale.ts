/**
 * What retrieval costs at any number of passages, computed from measured parts: prints the table of
 * docs/retrieval-scale.md, `node dist/bench/search/retrieval-scale.js`. Every constant names the result that it stands in.
 */
import { pathToFileURL } from "node:url";

/** Measured, or the files' own layout. */
export const measured = {
  /** Bytes of a stored passage of 100 words: results/scale_epyc_20261120. */
  passageBytes: 491,
  /** Bytes of postings a passage of 100 words: results/scale_epyc_20261120. */
  postingBytes: 478,
  /** Bytes of a vector of width 768: rows (docs/indexes.md). */
  rowBytes: { bf16: 2 * 768, i8: 768 + 4, b1: 768 / 8 },
  /** Bytes of a vector's links, connectivity 32: results/vectors_epyc-zen5_20261120 (1,036 with rows of 768). */
  linkBytes: 268,
  /** Core seconds of a query of 5 words in one million and in five: docs/indexes.md. */
  wordSeconds: [0.00032, 0.00131],
  /**
   * Queries a core second over 200,000 rows, compared with each, many at once: width 768 of results/vectors_epyc-zen4_20261122;
   * b1 at width 384 of results/vectors_epyc-zen5_20261120, halved.
   */
  scansPerSecond: { bf16: 634, i8: 889, b1: 2955 / 2 },
  /** Queries a core second by a walk at recall 0.99 in 200,000 vectors of width 384: docs/indexes.md. */
  walksPerSecond: { bf16: 24_536, i8: 30_127 },
  /** Vectors linked a core second, the same: results/vectors_epyc-zen5_20261120. */
  linksPerSecond: { bf16: 6_133, i8: 8_123 },
  /** Core seconds of all else of a query, from text to hits: results/scale_epyc_20261120 (4,288 a second on two cores). */
  queryOverheadSeconds: 2 / 4288,
  /** Passages a core second: indexed by words (results/bm25_epyc-zen5_20261120). */
  wordsIndexedPerSecond: 45_769,
  /** Passages of 145 tokens that BGE-base embeds a core second in bf16: results/embed_epyc-zen5_20261120. */
  embeddedPerSecond: 2_005 / 145,
} as const;

/** A machine: 16 cores and 128 GB, of which three quarters are for what must be resident. */
export const machine = { cores: 16, residentBytes: 96e9 } as const;

const rowsMeasured = 200_000;
/** How much longer a walk is than among the vectors that were measured: as the logarithm, and as the width. */
const walkFactor = (count: number): number => (Math.log2(count) / Math.log2(rowsMeasured)) * (768 / 384);

/** Seconds of a core for a query by words: a line through both measurements. */
function wordSeconds(count: number): number {
  const [one, five] = measured.wordSeconds;
  const perMillion = (five - one) / 4;
  return one - perMillion + (perMillion * count) / 1e6;
}

/** One way to search. */
interface Way {
  readonly name: string;
  /** Bytes of a passage that must be in memory, besides what is mapped. */
  readonly resident: number;
  /** Bytes of a passage on the disk, its text included. */
  readonly disk: number;
  /** Core seconds of a query over so many passages, all else aside. */
  readonly seconds: (count: number) => number;
  /** Core seconds to index so many passages once they are embedded. */
  readonly build: (count: number) => number;
  readonly isEmbedded: boolean;
}

const scan = (form: "bf16" | "i8" | "b1") => (count: number) =>
  count / rowsMeasured / measured.scansPerSecond[form];
const walk = (form: "bf16" | "i8") => (count: number) => walkFactor(count) / measured.walksPerSecond[form];
const link = (form: "bf16" | "i8") => (count: number) =>
  (count * walkFactor(count)) / measured.linksPerSecond[form];
const none = (): number => 0;

const { passageBytes: text, postingBytes, rowBytes: row, linkBytes } = measured;

/** All of them. */
export const ways: readonly Way[] = [
  {
    name: "words (BM25)",
    resident: postingBytes,
    disk: text + postingBytes,
    seconds: wordSeconds,
    build: (count) => count / measured.wordsIndexedPerSecond,
    isEmbedded: false,
  },
  {
    ...{ name: "exact `bf16`", resident: row.bf16, disk: text + row.bf16 },
    ...{ seconds: scan("bf16"), build: none, isEmbedded: true },
  },
  {
    ...{ name: "exact `i8`, scored again", resident: row.i8, disk: text + row.i8 + row.bf16 },
    ...{ seconds: scan("i8"), build: none, isEmbedded: true },
  },
  {
    ...{ name: "exact `b1`, scored again", resident: row.b1, disk: text + row.b1 + row.bf16 },
    ...{ seconds: scan("b1"), build: none, isEmbedded: true },
  },
  {
    ...{ name: "graph `bf16`", resident: row.bf16 + linkBytes, disk: text + row.bf16 + linkBytes },
    ...{ seconds: walk("bf16"), build: link("bf16"), isEmbedded: true },
  },
  {
    ...{ name: "graph `i8`, scored again", resident: row.i8 + linkBytes },
    ...{
      disk: text + row.i8 + linkBytes + row.bf16,
      seconds: walk("i8"),
      build: link("i8"),
      isEmbedded: true,
    },
  },
];

/** What a way costs for so many passages. */
export function costOf(way: Way, count: number) {
  const machines = Math.ceil((way.resident * count) / machine.residentBytes);
  const each = Math.ceil(count / machines);
  // Every machine searches its part for every query.
  const coreSeconds = machines * (way.seconds(each) + measured.queryOverheadSeconds);
  return {
    diskBytes: way.disk * count,
    residentBytes: way.resident * count,
    machines,
    buildHours: (machines * way.build(each)) / 3600,
    embedHours: way.isEmbedded ? count / measured.embeddedPerSecond / 3600 : 0,
    perSecond: (machines * machine.cores) / coreSeconds,
  };
}

/** Two digits, thousands apart. */
function shown(value: number): string {
  if (value === 0) return "0";
  const digits = Number(value.toPrecision(2));
  return digits >= 1 ? digits.toLocaleString("en-US") : String(digits);
}

/** The page's table. */
export function scaleTable(): string {
  const head =
    "| passages | searched by | disk, GB | resident, GB | machines | indexed, core hours | queries/s of all machines |";
  const lines = [
    [1e6, "1 M"],
    [20e6, "20 M"],
    [200e6, "200 M"],
    [1e9, "1 B"],
  ].flatMap(([count, name]) =>
    ways.map((way) => {
      const { diskBytes, residentBytes, machines, buildHours, perSecond } = costOf(way, Number(count));
      const cells = [
        shown(diskBytes / 1e9),
        shown(residentBytes / 1e9),
        machines,
        shown(buildHours),
        shown(perSecond),
      ];
      return `| ${[name, way.name, ...cells].join(" | ")} |`;
    }),
  );
  return [head, "|---|---|---|---|---|---|---|", ...lines].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.stdout.write(`${scaleTable()}\n`);
