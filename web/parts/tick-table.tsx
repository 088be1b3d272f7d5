/** A table whose rows are opened by a click, and ticked to be compared. */
import type { ComponentChildren, JSX } from "preact";

/** A column's head, and the class of its cells. */
export type Column = readonly [name: string, kind: string];

interface TickTableProps<Row> {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Ids. */
  readonly ticked: readonly string[];
  readonly tick: (id: string, isOn: boolean) => void;
  readonly open: (id: string) => void;
  /** The cells of a row, behind the one with the tick. */
  readonly draw: (row: Row) => ComponentChildren;
}

/** The table. */
export function TickTable<Row extends { readonly id: string; readonly name: string }>(
  props: TickTableProps<Row>,
): JSX.Element {
  const { columns, rows, ticked, tick, open, draw } = props;
  const openRow = (event: MouseEvent, id: string): void => {
    if (!(event.target as Element).closest("a, input, label")) open(id);
  };
  return (
    <div class="card scroll-x">
      <table class="table run-table">
        <thead>
          <tr>
            <th>
              <span class="sr-only">Compare</span>
            </th>
            {columns.map(([name, kind]) => (
              <th key={name} class={kind}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id} onClick={(event) => openRow(event, row.id)}>
              <td>
                <Tick
                  name={row.name}
                  isOn={ticked.includes(row.id)}
                  onChange={(isOn) => tick(row.id, isOn)}
                />
              </td>
              {draw(row)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface TickProps {
  readonly name: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Tick({ name, isOn, onChange }: TickProps): JSX.Element {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span class="sr-only">Compare {name}</span>
    </label>
  );
}
