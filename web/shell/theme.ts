/** Light or dark: as the system is, or as was chosen. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { Theme } from "../base/colour/token-colour.ts";

/** What can be chosen. */
export type ThemeChoice = "system" | Theme;

const stored = "seekrl.theme";
const darkness = matchMedia("(prefers-color-scheme: dark)");

function readChoice(): ThemeChoice {
  const choice = localStorage.getItem(stored);
  return choice === "light" || choice === "dark" ? choice : "system";
}

function show(choice: ThemeChoice): void {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

// Before anything is drawn, so that the page does not change its colours.
show(readChoice());

/** The theme that is seen, the choice, and how to make another. */
export function useTheme(): { theme: Theme; choice: ThemeChoice; choose: (choice: ThemeChoice) => void } {
  const [choice, setChoice] = useState(readChoice);
  const [isDark, setDark] = useState(darkness.matches);
  useEffect(() => {
    const follow = (): void => setDark(darkness.matches);
    darkness.addEventListener("change", follow);
    return () => darkness.removeEventListener("change", follow);
  }, []);
  const choose = useCallback((next: ThemeChoice) => {
    localStorage.setItem(stored, next);
    show(next);
    setChoice(next);
  }, []);
  const theme = choice === "system" ? (isDark ? "dark" : "light") : choice;
  return { theme, choice, choose };
}
