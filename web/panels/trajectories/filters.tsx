/** Which trajectories are listed, and in which order. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TrajectoryQuery, TrajectoryRanges, TrajectorySort } from "../../../apps/studio/api.ts";
import { showCount, showNumber } from "../../base/numbers.ts";
import type { Route } from "../../base/route.ts";
import { RangeFields, SearchField, Segmented, Select } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useQuery, useQueryText } from "../../shell/context.ts";

const filterKeys = [
  "text",
  "em",
  "stop",
  "minReward",
  "maxReward",
  "minSearches",
  "maxSearches",
  "fromStep",
  "toStep",
] as const;

/** The filters of an address, as the server takes them. */
export function filtersOf(query: Route["query"]): TrajectoryQuery {
  const kept = [...filterKeys, "sort", "order"].filter((key) => (query[key] ?? "") !== "");
  return Object.fromEntries(kept.map((key) => [key, query[key]]));
}

const rightness = [
  { value: "", label: "All" },
  { value: "1", label: "Right" },
  { value: "0", label: "Wrong" },
] as const;

const sorts = [
  { value: "row", label: "Order of the log" },
  { value: "step", label: "Step" },
  { value: "reward", label: "Reward" },
  { value: "em", label: "Exact match" },
  { value: "searches", label: "Searches" },
  { value: "turns", label: "Turns" },
  { value: "tokens", label: "Tokens" },
] as const satisfies readonly { readonly value: TrajectorySort; readonly label: string }[];

/** What all filters share. */
interface FilterProps {
  readonly query: Route["query"];
  readonly change: (changes: Readonly<Record<string, string>>) => void;
  readonly ranges: TrajectoryRanges | undefined;
}

/** The filters, the rarer ones behind a button. */
export function Filters({ ranges }: { readonly ranges: TrajectoryRanges | undefined }): JSX.Element {
  const [query, change] = useQuery();
  const numSet = filterKeys.filter(
    (key) => key !== "text" && key !== "em" && (query[key] ?? "") !== "",
  ).length;
  const [isOpen, setOpen] = useState(numSet > 0);
  return (
    <div class="filters">
      <div class="filter-line">
        <TextFilter />
        <Segmented
          label="Exact match"
          options={rightness}
          value={(query.em ?? "") as "" | "0" | "1"}
          onChange={(em) => change({ em })}
        />
        <button
          type="button"
          class="button"
          aria-expanded={isOpen}
          aria-controls="more-filters"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="sliders" size={14} /> Filter{numSet > 0 ? ` · ${numSet}` : ""}
        </button>
      </div>
      {isOpen ? (
        <div id="more-filters" class="more-filters">
          <StopFilter {...{ query, change, ranges }} />
          <RangeFilters {...{ query, change, ranges }} />
          <Sorting {...{ query, change, ranges }} />
        </div>
      ) : null}
    </div>
  );
}

function TextFilter(): JSX.Element {
  const [text, setText] = useQueryText();
  return <SearchField label="Find in questions" value={text} onInput={setText} />;
}

function StopFilter({ query, change, ranges }: FilterProps): JSX.Element {
  const chosen = (query.stop ?? "").split(",").filter((each) => each !== "");
  const toggle = (stop: string): void => {
    const next = chosen.includes(stop) ? chosen.filter((each) => each !== stop) : [...chosen, stop];
    change({ stop: next.join(",") });
  };
  return (
    <fieldset class="stop-filter">
      <legend class="field">Stopped by</legend>
      {(ranges?.stops ?? []).map(({ stop, count }) => (
        <button
          type="button"
          key={stop}
          class="button chip"
          aria-pressed={chosen.includes(stop)}
          onClick={() => toggle(stop)}
        >
          {stop} <span class="faint num">{showCount(count)}</span>
        </button>
      ))}
    </fieldset>
  );
}

function RangeFilters({ query, change, ranges }: FilterProps): JSX.Element {
  const range = (label: string, [from, to]: readonly [string, string], hints: readonly [string, string]) => (
    <RangeFields
      {...{ label, hints }}
      from={query[from] ?? ""}
      to={query[to] ?? ""}
      onChange={(ends) => change({ [from]: ends.from, [to]: ends.to })}
    />
  );
  return (
    <div class="range-filters">
      {range(
        "Reward",
        ["minReward", "maxReward"],
        [showNumber(ranges?.minReward), showNumber(ranges?.maxReward)],
      )}
      {range("Searches", ["minSearches", "maxSearches"], ["0", String(ranges?.maxSearches ?? "")])}
      {range(
        "Step",
        ["fromStep", "toStep"],
        [String(ranges?.firstStep ?? ""), String(ranges?.lastStep ?? "")],
      )}
    </div>
  );
}

const orders = [
  { value: "asc", label: "Ascending" },
  { value: "desc", label: "Descending" },
] as const;

function Sorting({ query, change }: FilterProps): JSX.Element {
  const cleared = Object.fromEntries(filterKeys.filter((key) => key !== "text").map((key) => [key, ""]));
  return (
    <div class="range-filters">
      <Select
        isLabelled
        label="Sort by"
        options={sorts}
        value={(query.sort ?? "row") as TrajectorySort}
        onChange={(sort) => change({ sort })}
      />
      <Segmented
        label="Order"
        options={orders}
        value={query.order === "desc" ? "desc" : "asc"}
        onChange={(order) => change({ order })}
      />
      <button type="button" class="button plain" onClick={() => change(cleared)}>
        Clear
      </button>
    </div>
  );
}
