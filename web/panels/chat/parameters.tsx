/** How replies are sampled, and what the model is told before all messages. */
import type { JSX } from "preact";
import { isAgent } from "../../api/chat.ts";
import type { Parameters } from "./store.ts";

interface ParameterFieldsProps {
  readonly model: string;
  readonly parameters: Parameters;
  readonly change: (changes: Partial<Parameters>) => void;
}

const numbers = [
  { name: "temperature", label: "Temperature", min: 0, step: 0.1 },
  { name: "topP", label: "Top p", min: 0, max: 1, step: 0.05 },
  { name: "maxTokens", label: "Most tokens", min: 1, step: 1 },
  { name: "seed", label: "Seed", min: 0, step: 1 },
] as const;

/** What an agent may use. */
const budgets = [
  { name: "maxSearches", label: "Most searches", min: 0, step: 1 },
  { name: "topK", label: "Passages a query", min: 1, step: 1 },
  { name: "deadline", label: "Deadline, seconds", min: 0.1, step: 0.1 },
] as const;

/** Empty fields are left to the server. */
export function ParameterFields({ model, parameters, change }: ParameterFieldsProps): JSX.Element {
  return (
    <aside class="parameters" id="parameters" aria-label="Parameters">
      <label class="stacked">
        System prompt
        <textarea
          class="input"
          rows={5}
          value={parameters.system}
          onInput={({ currentTarget }) => change({ system: currentTarget.value })}
        />
      </label>
      {[...numbers, ...(isAgent(model) ? budgets : [])].map(({ name, label, ...limits }) => (
        <label class="stacked" key={name}>
          {label}
          <input
            class="input num"
            type="number"
            placeholder="the server's"
            {...limits}
            value={parameters[name]}
            onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
          />
        </label>
      ))}
    </aside>
  );
}
