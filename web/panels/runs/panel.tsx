/** Runs: the list, or one of them beside others. */
import type { JSX } from "preact";
import { usePage } from "../../shell/context.ts";
import { RunList } from "./run-list.tsx";
import { RunPage } from "./run-page.tsx";

/** The panel of runs. */
export function RunsPanel(): JSX.Element {
  const { route } = usePage();
  const [run] = route.path;
  if (run === undefined) return <RunList />;
  const others = (route.query.with ?? "").split(",").filter((each) => each !== "");
  return <RunPage runs={[run, ...others]} />;
}
