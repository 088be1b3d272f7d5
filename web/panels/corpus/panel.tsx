/** The open index: search in it, see why a passage ranks, count what is in it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { IndexDescription, IndexSearchResult, SearchMode } from "../../../apps/studio/api.ts";
import { getIndex, searchIndex } from "../../api/studio.ts";
import { showBytes, showCount, showDuration } from "../../base/numbers.ts";
import { Empty, Notice, SearchField, Segmented, Stats } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { usePage, useQuery } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { Views } from "../../shell/views.tsx";
import { HitCard } from "./hit-card.tsx";
import { CorpusReport } from "./report.tsx";

const views = [
  { value: "search", label: "Search" },
  { value: "report", label: "Corpus report" },
] as const;

/** The panel of the index. */
export function IndexPanel(): JSX.Element {
  const { studio } = usePage();
  return (
    <>
      <Head title="Index" />
      {studio.capabilities.index ? (
        <OpenIndex />
      ) : (
        <Empty title="No index is open">
          <p>Name one when the studio is started.</p>
          <code>npx seekrl studio --index FOLDER</code>
        </Empty>
      )}
    </>
  );
}

function OpenIndex(): JSX.Element {
  const { value, error } = useResource("index", getIndex);
  const [query] = useQuery();
  const view = query.view === "report" ? "report" : "search";
  return (
    <>
      {error ? <Notice kind="bad">{error.message}</Notice> : null}
      {value ? <Description index={value} /> : null}
      <Views name="index" options={views} value={view}>
        {value && view === "search" ? <SearchBox modes={value.modes} /> : null}
        {view === "report" ? <CorpusReport /> : null}
      </Views>
    </>
  );
}

function Description({ index }: { readonly index: IndexDescription }): JSX.Element {
  const items = [
    ["Passages", showCount(index.passages)],
    ...(index.removed > 0 ? [["Removed", showCount(index.removed)] as const] : []),
    ["On disk", showBytes(index.bytes)],
    ["Segments", index.segments.length],
    ["Searched by", index.modes.join(", ")],
  ] as const;
  return (
    <div class="run-head">
      <Stats items={items} />
      <p class="faint mono cut">{index.folder}</p>
    </div>
  );
}

const modeNames: Readonly<Record<SearchMode, string>> = { bm25: "Words", dense: "Vectors", hybrid: "Both" };

interface SearchBoxProps {
  readonly modes: readonly SearchMode[];
}

function SearchBox({ modes }: SearchBoxProps): JSX.Element {
  const [asked] = useQuery();
  const mode = modes.find((each) => each === asked.mode) ?? modes[0] ?? "bm25";
  return (
    <>
      <SearchForm modes={modes} mode={mode} />
      {asked.q ? (
        <Found query={asked.q} mode={mode} />
      ) : (
        <p class="muted">Each hit shows which words and vectors put it where it is.</p>
      )}
    </>
  );
}

function SearchForm({ modes, mode }: SearchBoxProps & { readonly mode: SearchMode }): JSX.Element {
  const [asked, change] = useQuery();
  const [text, setText] = useState(asked.q ?? "");
  const send = (event: Event): void => {
    event.preventDefault();
    change({ q: text.trim() }, { replace: false });
  };
  return (
    <form class="index-form" onSubmit={send}>
      <SearchField label="Search the index" value={text} onInput={setText} isLarge />
      {modes.length > 1 ? (
        <Segmented
          label="Search by"
          options={modes.map((value) => ({ value, label: modeNames[value] }))}
          value={mode}
          onChange={(next) => change({ mode: next })}
        />
      ) : null}
      <button type="submit" class="button primary">
        Search
      </button>
    </form>
  );
}

function Found({ query, mode }: { readonly query: string; readonly mode: SearchMode }): JSX.Element {
  const { value, error } = useResource<IndexSearchResult>(`${mode} ${query}`, (signal) =>
    searchIndex({ query, mode, topK: 20 }, signal),
  );
  if (error) return <Notice kind="bad">{error.message}</Notice>;
  if (value === undefined) return <p class="muted">Searching…</p>;
  if (value.hits.length === 0) return <Empty title="Nothing was found" />;
  const best = Math.max(...value.hits.map(({ words }) => words?.score ?? 0));
  return (
    <>
      <p class="muted num index-took" role="status">
        {value.hits.length} hits in {showDuration(value.milliseconds)}
      </p>
      <ol class="hit-list">
        {value.hits.map((hit) => (
          <HitCard key={hit.id} hit={hit} bestWords={best} />
        ))}
      </ol>
    </>
  );
}
