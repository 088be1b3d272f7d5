/** Starts the studio's page. */
import { render } from "preact";
import { ChatPanel } from "./panels/chat/panel.tsx";
import { IndexPanel } from "./panels/corpus/panel.tsx";
import { EvaluationPanel } from "./panels/evaluation/panel.tsx";
import { LivePanel } from "./panels/live/panel.tsx";
import { RunsPanel } from "./panels/runs/panel.tsx";
import { TrajectoriesPanel } from "./panels/trajectories/panel.tsx";
import { App, type Panels } from "./shell/app.tsx";

const panels: Panels = {
  runs: RunsPanel,
  trajectories: TrajectoriesPanel,
  evaluation: EvaluationPanel,
  index: IndexPanel,
  chat: ChatPanel,
  live: LivePanel,
};

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no element to draw in");
render(<App panels={panels} />, root);
