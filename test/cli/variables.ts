/** Variables of this process's environment, which the library reads, for as long as a test needs them. */

/** Sets them until it is disposed of; an undefined one is taken away. */
export function withVariables(variables: Readonly<Record<string, string | undefined>>): Disposable {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  set(Object.entries(variables));
  return { [Symbol.dispose]: () => set(before) };
}

function set(variables: readonly (readonly [string, string | undefined])[]): void {
  for (const [name, value] of variables) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
