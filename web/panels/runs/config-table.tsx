/** The options of runs beside each other. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunDetail } from "../../../apps/studio/api.ts";
import { diffOf } from "../../base/config-diff.ts";
import { Empty, SearchField, Segmented } from "../../parts/controls.tsx";

const shows = [
  { value: "differ", label: "What differs" },
  { value: "all", label: "All" },
] as const;

/** A table with a column for each run. */
export function ConfigTable({ runs }: { readonly runs: readonly RunDetail[] }): JSX.Element {
  const isAlone = runs.length === 1;
  const [show, setShow] = useState<"differ" | "all">("differ");
  const [text, setText] = useState("");
  const all = diffOf(runs.map(({ options }) => options));
  const rows = all
    .filter(({ differs }) => isAlone || show === "all" || differs)
    .filter(({ path }) => path.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <div class="curve-tools">
        <SearchField label="Find an option" value={text} onInput={setText} />
        {isAlone ? null : <Segmented label="Which options" options={shows} value={show} onChange={setShow} />}
        <span class="faint num">
          {rows.length} of {all.length}
        </span>
      </div>
      {rows.length === 0 ? (
        <Empty title={whyNone(all.length, text)} />
      ) : (
        <OptionRows runs={runs} rows={rows} />
      )}
    </>
  );
}

function whyNone(numOptions: number, text: string): string {
  if (numOptions === 0) return "No configuration was kept";
  return text === "" ? "No option differs" : "No such option";
}

interface OptionRowsProps {
  readonly runs: readonly RunDetail[];
  readonly rows: ReturnType<typeof diffOf>;
}

function OptionRows({ runs, rows }: OptionRowsProps): JSX.Element {
  const isAlone = runs.length === 1;
  return (
    <div class="card scroll-x">
      <table class="table config">
        <thead>
          <tr>
            <th>Option</th>
            {runs.map(({ id, name }) => (
              <th key={id}>{isAlone ? "Value" : name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ path, values, differs }) => (
            <tr key={path} class={!isAlone && differs ? "differs" : undefined}>
              <td class="mono">{path}</td>
              {values.map((value, i) => (
                <td class="mono" key={runs[i]?.id}>
                  {value ?? <span class="faint">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
