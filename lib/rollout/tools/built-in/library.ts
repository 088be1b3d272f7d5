/** Documents by name: the passages of a corpus under the titles they share, read from disk when they are asked for. */
import type { Passage } from "../../../search/corpus/passage.ts";
import { passagesOf } from "../../../search/index-folder/corpus.ts";
import { findManifest } from "../../../search/index-folder/manifest.ts";
import { openFiles } from "../../../search/index-folder/open.ts";
import { normalized } from "../../../text/normal-form.ts";

/** Passages by number, such as those of a segment of an index. */
interface PassageSource extends AsyncIterable<Passage> {
  getMany(rows: Int32Array): Promise<Passage[]>;
  /** The number of each id, -1 where there is none. */
  find(ids: readonly string[]): Promise<Int32Array>;
}

/** A passage of a source. */
interface Place {
  readonly source: number;
  readonly row: number;
}

/** Passages of one title that follow one another. */
interface Run extends Place {
  count: number;
}

/** A document: its passages in order, as far as they were asked for. */
export interface Shelved {
  readonly title: string;
  readonly numPassages: number;
  /** The number of the passage whose id was asked for, else 0. */
  readonly at: number;
  /** Reads some of its passages. */
  read(first: number, count: number): Promise<Passage[]>;
}

/**
 * A corpus whose documents can be looked up.
 *
 * @example
 * const library = await Library.open("index");
 * const { title, numPassages } = await library.find("paris");
 * assert.deepEqual([title, numPassages], ["Paris", 1]);
 * library.close();
 */
export class Library {
  readonly #sources: readonly PassageSource[];
  readonly #titles: ReadonlyMap<string, readonly Run[]>;
  readonly #close: () => void;

  private constructor(
    sources: readonly PassageSource[],
    titles: ReadonlyMap<string, readonly Run[]>,
    close: () => void,
  ) {
    this.#sources = sources;
    this.#titles = titles;
    this.#close = close;
  }

  /**
   * Opens an index folder, whose passages stay on disk, or reads a corpus into memory. All titles are read once; they
   * take about 100 bytes of memory each.
   *
   * @param path - an index folder, or what `readDocuments` reads
   * @returns the library, to be closed
   * @throws ERR_IO, ERR_FORMAT
   */
  static async open(path: string): Promise<Library> {
    const manifest = await findManifest(path);
    if (manifest === undefined) {
      const passages: Passage[] = [];
      for await (const passage of passagesOf(path, {})) passages.push(passage);
      return Library.of(passages);
    }
    const { segments, close } = await openFiles(path, manifest, {
      bm25: false,
      dense: false,
      embedder: false,
    });
    const sources = segments.map(({ passages }) => passages);
    try {
      const titles = await readTitles(
        sources,
        ({ source, row }) => segments[source]?.isRemoved(row) ?? false,
      );
      return new Library(sources, titles, close);
    } catch (error) {
      close();
      throw error;
    }
  }

  /**
   * A library of passages in memory.
   *
   * @param passages - in the order of their documents
   * @returns the library; closing it does nothing
   */
  static async of(passages: readonly Passage[]): Promise<Library> {
    const source: PassageSource = {
      getMany: async (rows) => Array.from(rows, (row) => passages[row] as Passage),
      find: async (ids) => Int32Array.from(ids, (id) => passages.findIndex((each) => each.id === id)),
      async *[Symbol.asyncIterator]() {
        yield* passages;
      },
    };
    return new Library([source], await readTitles([source], () => false), () => {});
  }

  /**
   * Looks a document up by its title, whatever its case, or else by the id of one of its passages.
   * Looking for an id reads all of them.
   *
   * @param name - title or id
   * @returns undefined when there is none
   */
  async find(name: string): Promise<Shelved | undefined> {
    const runs = this.#titles.get(keyOf(name));
    if (runs !== undefined) return this.#shelved(runs, 0);
    const place = await this.#placeOf(name.trim());
    if (place === undefined) return undefined;
    const [passage] = (await this.#sources[place.source]?.getMany(Int32Array.of(place.row))) ?? [];
    const own = this.#titles.get(keyOf(passage?.title ?? "")) ?? [{ ...place, count: 1 }];
    let before = 0;
    for (const { source, row, count } of own) {
      if (source === place.source && place.row >= row && place.row < row + count) {
        return this.#shelved(own, before + place.row - row);
      }
      before += count;
    }
    return undefined;
  }

  /** Lets go of the files; reading afterwards rejects with ERR_STATE. */
  close(): void {
    this.#close();
  }

  async #placeOf(id: string): Promise<Place | undefined> {
    for (const [source, passages] of this.#sources.entries()) {
      const [row = -1] = await passages.find([id]);
      if (row >= 0) return { source, row };
    }
    return undefined;
  }

  async #shelved(runs: readonly Run[], at: number): Promise<Shelved> {
    const places = runs.flatMap(({ source, row, count }) =>
      Array.from({ length: count }, (_, i) => ({ source, row: row + i })),
    );
    const read = (first: number, count: number): Promise<Passage[]> =>
      this.#read(places.slice(first, first + count));
    const [passage] = await read(0, 1);
    return { title: passage?.title ?? "", numPassages: places.length, at, read };
  }

  /** One call for what follows one another in a source. */
  async #read(places: readonly Place[]): Promise<Passage[]> {
    const runs: { readonly source: number; readonly rows: number[] }[] = [];
    for (const { source, row } of places) {
      const last = runs.at(-1);
      if (last?.source === source) last.rows.push(row);
      else runs.push({ source, rows: [row] });
    }
    const read = runs.map(({ source, rows }) => this.#sources[source]?.getMany(Int32Array.from(rows)) ?? []);
    return (await Promise.all(read)).flat();
  }
}

async function readTitles(
  sources: readonly PassageSource[],
  isLeftOut: (place: Place) => boolean,
): Promise<Map<string, Run[]>> {
  const titles = new Map<string, Run[]>();
  for (const [source, passages] of sources.entries()) {
    let row = 0;
    for await (const { title } of passages) {
      const place = { source, row: row++ };
      const key = keyOf(title);
      if (key !== "" && !isLeftOut(place)) addTo(titles, key, place);
    }
  }
  return titles;
}

function addTo(titles: Map<string, Run[]>, key: string, { source, row }: Place): void {
  const runs = titles.get(key);
  const last = runs?.at(-1);
  if (last !== undefined && last.source === source && last.row + last.count === row) last.count += 1;
  else if (runs === undefined) titles.set(key, [{ source, row, count: 1 }]);
  else runs.push({ source, row, count: 1 });
}

/** A name as it is looked up: without case, and with one space for all that looks like one. */
export function keyOf(name: string): string {
  return normalized(name, "NFKC")
    .toLowerCase()
    .replace(/[\s_]+/g, " ")
    .trim();
}
