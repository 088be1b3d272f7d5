/** What is in the corpus: counts, and the first examples of what looks wrong. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { CorpusSummary } from "../../../apps/studio/api.ts";
import { getReport } from "../../api/studio.ts";
import { showCount } from "../../base/numbers.ts";
import { Notice, Stats } from "../../parts/controls.tsx";

/** Asked for by a button: every passage is read for it. */
export function CorpusReport(): JSX.Element {
  const [report, setReport] = useState<CorpusSummary>();
  const [state, setState] = useState<"idle" | "busy">("idle");
  const [failure, setFailure] = useState("");
  const read = (): void => {
    setState("busy");
    setFailure("");
    getReport()
      .then(setReport, ({ message }: Error) => setFailure(message))
      .finally(() => setState("idle"));
  };
  if (report) return <Counts report={report} />;
  return (
    <div class="report-ask">
      <p class="muted">Reads every passage once: lengths, empty ones, duplicates.</p>
      <button type="button" class="button primary" disabled={state === "busy"} onClick={read}>
        {state === "busy" ? "Reading…" : "Read the corpus"}
      </button>
      {failure === "" ? null : <Notice kind="bad">{failure}</Notice>}
    </div>
  );
}

function Counts({ report }: { readonly report: CorpusSummary }): JSX.Element {
  const items = [
    ["Passages", showCount(report.numPassages)],
    ["Words", showCount(report.numWords)],
    ["Words a passage", showCount(report.numWords / Math.max(1, report.numPassages))],
    ["Longest", `${showCount(report.numLongestWords)} words`],
  ] as const;
  const findings = [
    { name: "Empty", count: report.numEmpty, places: report.empty.map(String) },
    {
      name: `Over ${showCount(report.maxWords)} words`,
      count: report.numOverLong,
      places: report.overLong.map(String),
    },
    {
      name: "Duplicates",
      count: report.numDuplicates,
      places: report.duplicates.map(({ first, again }) => `${again} as ${first}`),
    },
  ];
  return (
    <>
      <Stats items={items} />
      <Findings findings={findings} />
    </>
  );
}

interface FindingsProps {
  readonly findings: readonly {
    readonly name: string;
    readonly count: number;
    readonly places: readonly string[];
  }[];
}

function Findings({ findings }: FindingsProps): JSX.Element {
  return (
    <div class="card report-table">
      <table class="table">
        <thead>
          <tr>
            <th>Looks wrong</th>
            <th class="right">Passages</th>
            <th>The first of them</th>
          </tr>
        </thead>
        <tbody>
          {findings.map(({ name, count, places }) => (
            <tr key={name}>
              <td>{name}</td>
              <td class={`right num ${count > 0 ? "bad" : "good"}`}>{showCount(count)}</td>
              <td class="muted num">{places.slice(0, 8).join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
