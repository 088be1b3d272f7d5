/** A pass through the events of a test run that adds, before the counts at their end, the slowest tests and the slowest files. */

const listed = 10;

/** A compiled test file's path in `test`, as its source is named. */
const sourceOf = (path) => path.replace(/^.*\/dist\/test\//, "").replace(/js$/, "ts");

function linesOf(title, entries) {
  const slowest = entries.toSorted((a, b) => b.seconds - a.seconds).slice(0, listed);
  return [title, ...slowest.map(({ name, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${name}`)];
}

const diagnostic = (message) => ({ type: "test:diagnostic", data: { nesting: 0, message } });

/**
 * @param onFiles - is told the seconds of every file when all have run
 * @returns a transform for `run().compose`
 */
export function slowestLast({ onFiles = () => {} } = {}) {
  return async function* addSlowest(source) {
    const tests = [];
    const files = {};
    let isAdded = false;
    for await (const event of source) {
      const { type, data } = event;
      const seconds = (data?.details?.duration_ms ?? 0) / 1000;
      // A file is a test of the runner's own, named by its path.
      if (type === "test:complete" && data.nesting === 0 && data.name === data.file)
        files[sourceOf(data.file)] = seconds;
      else if (type === "test:complete" && data.nesting === 0 && data.file)
        tests.push({ name: `${data.name} (${sourceOf(data.file)})`, seconds });
      // The runner's counts are the only diagnostics that belong to no file.
      if (type === "test:diagnostic" && data.file === undefined && !isAdded) {
        isAdded = true;
        const of = Object.entries(files).map(([name, each]) => ({ name, seconds: each }));
        for (const line of [...linesOf("slowest tests", tests), ...linesOf("slowest files", of)])
          yield diagnostic(line);
      }
      yield event;
    }
    onFiles(files);
  };
}
