/** The way between panels. */
import type { JSX } from "preact";
import { Segmented } from "../parts/controls.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import type { ThemeChoice } from "./theme.ts";

/** A panel's place in the list. */
interface PanelLink {
  readonly panel: string;
  readonly label: string;
  readonly icon: IconName;
}

/** The panels in their order. */
const panelLinks: readonly PanelLink[] = [
  { panel: "runs", label: "Runs", icon: "runs" },
  { panel: "trajectories", label: "Trajectories", icon: "trajectories" },
  { panel: "evaluation", label: "Evaluation", icon: "evaluation" },
  { panel: "index", label: "Index", icon: "index" },
  { panel: "chat", label: "Chat", icon: "chat" },
  { panel: "live", label: "Live", icon: "live" },
];

const choices = [
  { value: "light", label: "Light", icon: "sun" },
  { value: "system", label: "As the system", icon: "system" },
  { value: "dark", label: "Dark", icon: "moon" },
] as const;

/** What the sidebar shows. */
interface SidebarProps {
  readonly current: string;
  readonly version: string;
  readonly choice: ThemeChoice;
  readonly onChoice: (choice: ThemeChoice) => void;
}

/** Links to all panels, and the switch of the theme. */
export function Sidebar({ current, version, choice, onChoice }: SidebarProps): JSX.Element {
  return (
    <nav class="side" aria-label="Panels">
      <div class="brand">
        <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true">
          <rect width="16" height="16" rx="4" fill="currentColor" />
          <path class="brand-line" d="M3.5 11.5 6.5 8l2 1.8 4-5.3" />
        </svg>
        SeekRL <small>{version}</small>
      </div>
      <ul>
        {panelLinks.map(({ panel, label, icon }) => (
          <li key={panel}>
            <a class="nav-link" href={`#/${panel}`} aria-current={panel === current ? "page" : undefined}>
              <Icon name={icon} />
              {label}
            </a>
          </li>
        ))}
      </ul>
      <div class="side-foot">
        <Segmented label="Theme" options={choices} value={choice} onChange={onChoice} />
      </div>
    </nav>
  );
}
