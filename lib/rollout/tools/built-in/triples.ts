/** Facts of three parts (head, relation, tail) in memory: what stands beside an entity, and how two are connected. */
import { checkOptions, type OptionKinds } from "../../../base/check-options.ts";
import { keyOf } from "./library.ts";
import { readTriples, type Triple } from "./triple.ts";

/** Bounds of a look for paths. */
export interface PathOptions {
  /** Facts of the longest path. @default 4 */
  readonly maxHops?: number;
  /** Paths that are given, of the shortest there are. @default 3 */
  readonly maxPaths?: number;
  /** Entities that are looked at. @default 100_000 */
  readonly maxVisited?: number;
}

/** What looking for paths takes. */
export const pathKinds: OptionKinds<PathOptions> = {
  maxHops: "number",
  maxPaths: "number",
  maxVisited: "number",
};

/** So many names are compared with an unknown one; more would hold up the event loop. */
const maxCompared = 100_000;

/** The facts around each entity: of entity `e` the numbers `facts[starts[e]]` to `facts[starts[e + 1] - 1]`. */
interface Adjacency {
  readonly starts: Int32Array;
  readonly facts: Int32Array;
}

/**
 * Facts by number; entities and relations are numbers too.
 *
 * @example
 * const store = await TripleStore.of([{ head: "Radium", relation: "found by", tail: "Marie Curie" }]);
 * assert.deepEqual(store.neighbours("marie curie"), [{ head: "Radium", relation: "found by", tail: "Marie Curie" }]);
 */
export class TripleStore {
  readonly #names: readonly string[];
  readonly #relations: readonly string[];
  readonly #entities: ReadonlyMap<string, number>;
  /** `[3 * facts]`: head, relation, tail of each. */
  readonly #facts: Int32Array;
  readonly #around: Adjacency;

  private constructor(facts: Int32Array, entities: Interner, relations: Interner) {
    this.#names = entities.names;
    this.#relations = relations.names;
    this.#entities = entities.numbers;
    this.#facts = facts;
    this.#around = adjacencyOf(facts, entities.names.length);
  }

  /**
   * Keeps facts, each once.
   *
   * @param triples - in any order; names that differ in case only are one entity
   * @returns the store
   */
  static async of(triples: Iterable<Triple> | AsyncIterable<Triple>): Promise<TripleStore> {
    const [entities, relations, seen] = [
      new Interner(keyOf),
      new Interner((name) => name),
      new Set<string>(),
    ];
    let facts = new Int32Array(3 * 1024);
    let length = 0;
    for await (const { head, relation, tail } of triples) {
      const fact = [entities.number(head), relations.number(relation), entities.number(tail)];
      const key = fact.join(" ");
      if (seen.has(key)) continue;
      seen.add(key);
      if (length === facts.length) facts = grown(facts);
      facts.set(fact, length);
      length += 3;
    }
    return new TripleStore(facts.slice(0, length), entities, relations);
  }

  /**
   * Reads a file of facts.
   *
   * @param path - JSON Lines of `{head, relation, tail}`, or three columns between tabs; either also as gzip
   * @returns the store
   * @throws ERR_IO, ERR_FORMAT with file:line
   */
  static async open(path: string): Promise<TripleStore> {
    return TripleStore.of(readTriples(path));
  }

  /** Facts. */
  get size(): number {
    return this.#facts.length / 3;
  }

  /**
   * The name of an entity as it first stood in the facts.
   *
   * @param entity - its name, whatever its case
   * @returns undefined when there is none
   */
  nameOf(entity: string): string | undefined {
    const number = this.#entities.get(keyOf(entity));
    return number === undefined ? undefined : this.#names[number];
  }

  /**
   * Entities whose names contain a text, or whose words stand in it.
   *
   * @param entity - the text
   * @param limit - at most so many
   * @returns their names
   */
  similar(entity: string, limit: number): string[] {
    const wanted = ` ${keyOf(entity)} `;
    const names: string[] = [];
    let numCompared = 0;
    for (const [key, number] of this.#entities) {
      if (names.length === limit || numCompared === maxCompared) break;
      numCompared += 1;
      if (key.includes(wanted.trim()) || wanted.includes(` ${key} `)) names.push(this.#names[number] ?? "");
    }
    return names;
  }

  /**
   * The facts that an entity stands in, in the order of the file.
   *
   * @param entity - its name
   * @returns facts with the entity as head or tail; none when it is unknown
   */
  neighbours(entity: string): Triple[] {
    const number = this.#entities.get(keyOf(entity));
    return number === undefined ? [] : Array.from(this.#factsOf(number), (fact) => this.#triple(fact));
  }

  /**
   * The shortest paths between two entities, whichever way their facts point.
   *
   * @param from - name of the first
   * @param to - name of the last
   * @param options - bounds
   * @returns paths of equal length, each as its facts in order; one without facts for an entity and itself; none when
   * there is no path within the bounds or a name is unknown
   * @example
   * const facts = [["a", "knows", "b"], ["c", "knows", "b"]].map(([head, relation, tail]) => ({ head, relation, tail }));
   * const store = await TripleStore.of(facts);
   * assert.deepEqual(store.paths("a", "c"), [[facts[0], facts[1]]]);
   */
  paths(from: string, to: string, options: PathOptions = {}): Triple[][] {
    checkOptions("tripleStore.paths", options, pathKinds);
    const { maxHops = 4, maxPaths = 3, maxVisited = 100_000 } = options;
    const [start, goal] = [this.#entities.get(keyOf(from)), this.#entities.get(keyOf(to))];
    if (start === undefined || goal === undefined) return [];
    const ways = this.#waysBack(start, goal, { maxHops, maxVisited });
    const found = unwind(ways, start, goal, maxPaths);
    return found.map((facts) => facts.map((fact) => this.#triple(fact)));
  }

  /** Breadth first from `start` to the level of `goal`: for each entity on the way the facts that lead back, in order. */
  #waysBack(
    start: number,
    goal: number,
    { maxHops, maxVisited }: { readonly maxHops: number; readonly maxVisited: number },
  ): Map<number, WayBack[]> {
    const ways = new Map<number, WayBack[]>([[start, []]]);
    let level = [start];
    for (let hop = 1; hop <= maxHops && level.length > 0 && !ways.has(goal); hop += 1) {
      const next = new Map<number, WayBack[]>();
      for (const entity of level) {
        for (const fact of this.#factsOf(entity)) {
          const other = this.#other(fact, entity);
          if (ways.has(other)) continue;
          const back = next.get(other);
          if (back !== undefined) back.push({ fact, entity });
          else if (ways.size + next.size < maxVisited) next.set(other, [{ fact, entity }]);
        }
      }
      for (const [entity, back] of next) ways.set(entity, back);
      level = [...next.keys()];
    }
    return ways;
  }

  #factsOf(entity: number): Int32Array {
    const { starts, facts } = this.#around;
    return facts.subarray(starts[entity] ?? 0, starts[entity + 1] ?? 0);
  }

  #other(fact: number, entity: number): number {
    const head = this.#facts[3 * fact] ?? 0;
    return head === entity ? (this.#facts[3 * fact + 2] ?? 0) : head;
  }

  #triple(fact: number): Triple {
    const [head = 0, relation = 0, tail = 0] = this.#facts.subarray(3 * fact, 3 * fact + 3);
    const [names, relations] = [this.#names, this.#relations];
    return { head: names[head] ?? "", relation: relations[relation] ?? "", tail: names[tail] ?? "" };
  }
}

/** From an entity one fact towards the start. */
interface WayBack {
  readonly fact: number;
  readonly entity: number;
}

/** Paths from the start to the goal, at most so many; each step back goes to a level that is nearer, so none is endless. */
function unwind(
  ways: ReadonlyMap<number, readonly WayBack[]>,
  start: number,
  goal: number,
  maxPaths: number,
): number[][] {
  const paths: number[][] = [];
  const pending: { entity: number; path: number[] }[] = ways.has(goal) ? [{ entity: goal, path: [] }] : [];
  for (let state = pending.pop(); state && paths.length < maxPaths; state = pending.pop()) {
    const { entity, path } = state;
    if (entity === start) paths.push(path);
    const back = entity === start ? [] : (ways.get(entity) ?? []);
    // Last in, first out: the first way back is taken first, and more than maxPaths are never needed.
    for (const way of back.slice(0, maxPaths).reverse()) {
      pending.push({ entity: way.entity, path: [way.fact, ...path] });
    }
  }
  return paths;
}

/** Names by number, equal ones once. */
class Interner {
  readonly names: string[] = [];
  readonly numbers = new Map<string, number>();
  readonly #keyOf: (name: string) => string;

  constructor(key: (name: string) => string) {
    this.#keyOf = key;
  }

  number(name: string): number {
    const key = this.#keyOf(name);
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    this.numbers.set(key, this.names.length);
    return this.names.push(name) - 1;
  }
}

function grown(values: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * values.length);
  larger.set(values);
  return larger;
}

function adjacencyOf(triples: Int32Array, numEntities: number): Adjacency {
  const starts = new Int32Array(numEntities + 1);
  const ends = (fact: number): number[] => {
    const [head = 0, , tail = 0] = triples.subarray(fact, fact + 3);
    return head === tail ? [head] : [head, tail];
  };
  for (let fact = 0; fact < triples.length; fact += 3) {
    for (const entity of ends(fact)) starts[entity + 1] = (starts[entity + 1] ?? 0) + 1;
  }
  for (let i = 0; i < numEntities; i += 1) starts[i + 1] = (starts[i + 1] ?? 0) + (starts[i] ?? 0);
  const facts = new Int32Array(starts[numEntities] ?? 0);
  const next = starts.slice();
  for (let fact = 0; fact < triples.length; fact += 3) {
    for (const entity of ends(fact)) {
      const place = next[entity] ?? 0;
      facts[place] = fact / 3;
      next[entity] = place + 1;
    }
  }
  return { starts, facts };
}
