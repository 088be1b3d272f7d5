/** The page: its sidebar, and the panel that the address names. */
import type { FunctionComponent, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Studio } from "../../apps/studio/api.ts";
import { getStudio } from "../api/studio.ts";
import { Empty } from "../parts/controls.tsx";
import { useResource } from "../parts/resource.ts";
import { go, type Page, PageContext, useRoute } from "./context.ts";
import { KeyDialog } from "./key-dialog.tsx";
import { Sidebar } from "./sidebar.tsx";
import { useTheme } from "./theme.ts";

/** Panels by their names. */
export type Panels = Readonly<Record<string, FunctionComponent>>;

/** What opens first: what trains in this very process, else all runs. */
function firstPanel({ liveRun }: Studio): string {
  return liveRun === null ? "runs" : "live";
}

/** The whole page. */
export function App({ panels }: { readonly panels: Panels }): JSX.Element {
  const route = useRoute();
  const { theme, choice, choose } = useTheme();
  const [session, setSession] = useState(0);
  const { value: studio, error } = useResource(`studio ${session}`, getStudio);
  const isKnown = Object.hasOwn(panels, route.panel);
  useEffect(() => {
    if (studio !== undefined && !isKnown) go({ panel: firstPanel(studio) }, { replace: true });
  }, [studio, isKnown]);
  const page: Page | undefined = studio && { route, theme, choose, studio };
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the panel
      </button>
      <Sidebar current={route.panel} version={studio?.version ?? ""} choice={choice} onChoice={choose} />
      <main class="main" id="main" tabIndex={-1}>
        {error && studio === undefined ? (
          <Unreachable error={error} retry={() => setSession(session + 1)} />
        ) : null}
        {page && isKnown ? <Shown key={session} page={page} panel={panels[route.panel]} /> : null}
      </main>
      <KeyDialog onKey={() => setSession(session + 1)} />
    </div>
  );
}

function Shown({
  page,
  panel: Panel,
}: {
  readonly page: Page;
  readonly panel: FunctionComponent | undefined;
}): JSX.Element | null {
  if (Panel === undefined) return null;
  return (
    <PageContext.Provider value={page}>
      <Panel key={page.route.panel} />
    </PageContext.Provider>
  );
}

function Unreachable({ error, retry }: { readonly error: Error; readonly retry: () => void }): JSX.Element {
  return (
    <Empty title="The studio cannot be read">
      <p>{error.message}</p>
      <button type="button" class="button" onClick={retry}>
        Try again
      </button>
    </Empty>
  );
}
