/** Whether manifests have the fields that Kubernetes, JobSet and SkyPilot know, and those that ranks need. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

/** A value of YAML. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

/** The value at a path of keys; fails where one is missing. */
export function at(value: Value | undefined, ...path: readonly (string | number)[]): Value {
  const found = path.reduce<Value | undefined>(
    (inner, key) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, Value>)[key] : undefined,
    value,
  );
  assert.ok(found !== undefined, `${path.join(".")} is there`);
  return found;
}

/** Whether kubectl is installed; it needs no cluster for what it does here. */
export const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

/**
 * Checks a Job's or a Service's fields: kubectl reads the manifest into Kubernetes' own types, which drops what they do not
 * have and refuses values of another type.
 */
export function requireKnownFields(manifest: Value): void {
  const isJob = at(manifest, "kind") === "Job";
  const edit = isJob ? ["env", "CHECKED=1"] : ["selector", "checked=1"];
  const { status, stdout, stderr } = spawnSync(
    "kubectl",
    ["set", edit[0] ?? "", "--local", "-f", "-", edit[1] ?? "", "-o", "json"],
    { input: JSON.stringify(manifest), encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  const edited = isJob ? [] : ["spec.selector"];
  const read = new Set(pathsOf(JSON.parse(stdout) as Value));
  const dropped = pathsOf(manifest).filter((path) => !edited.some((each) => path.startsWith(each)));
  assert.deepEqual(
    dropped.filter((path) => !read.has(path)),
    [],
  );
}

/** Where values stand: `spec.template.spec.containers.0.name`. */
function pathsOf(value: Value, above = ""): string[] {
  if (typeof value !== "object" || value === null) return [above.slice(1)];
  return Object.entries(value).flatMap(([key, inner]) => pathsOf(inner as Value, `${above}.${key}`));
}

/** That all pods of a Job run at once under an index each, and none starts again alone. */
export function requireIndexed(spec: Value, { isInJobSet = false } = {}): void {
  // JobSet sets it.
  if (!isInJobSet) assert.equal(at(spec, "completionMode"), "Indexed");
  assert.equal(at(spec, "completions"), at(spec, "parallelism"));
  assert.equal(at(spec, "backoffLimit"), 0);
  assert.equal(at(spec, "template", "spec", "restartPolicy"), "Never");
  const names = (path: string[]): unknown[] =>
    (at(spec, ...path) as Value[]).map((each) => at(each, "name")).sort();
  const mounts = names(["template", "spec", "containers", "0", "volumeMounts"]);
  assert.deepEqual(mounts, names(["template", "spec", "volumes"]));
}

/** The keys of JobSet's v1alpha2 that stand left of a Job's own (its api/jobset/v1alpha2/jobset_types.go). */
const jobSetKeys = {
  spec: [
    ...[
      "replicatedJobs",
      "network",
      "successPolicy",
      "failurePolicy",
      "startupPolicy",
      "suspend",
      "coordinator",
    ],
    ...["managedBy", "ttlSecondsAfterFinished"],
  ],
  coordinator: ["replicatedJob", "jobIndex", "podIndex"],
  failurePolicy: ["maxRestarts", "restartStrategy", "rules"],
  replicatedJob: ["name", "groupName", "template", "replicas", "dependsOn"],
};

/** Checks a JobSet's own fields; returns the template of its one Job as a Job. */
export function requireJobSet(manifest: Value): Value {
  const has = (value: Value, known: keyof typeof jobSetKeys): void => {
    const unknown = Object.keys(value as object).filter((key) => !jobSetKeys[known].includes(key));
    assert.deepEqual(unknown, [], known);
  };
  assert.equal(at(manifest, "apiVersion"), "jobset.x-k8s.io/v1alpha2");
  const spec = at(manifest, "spec");
  has(spec, "spec");
  has(at(spec, "coordinator"), "coordinator");
  has(at(spec, "failurePolicy"), "failurePolicy");
  const [job, ...others] = at(spec, "replicatedJobs") as Value[];
  assert.deepEqual(others, []);
  has(job as Value, "replicatedJob");
  assert.equal(at(spec, "coordinator", "replicatedJob"), at(job, "name"));
  const name = `${at(manifest, "metadata", "name")}-${at(job, "name")}-0`;
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, ...(at(job, "template") as object) };
}

/** The fields of a SkyPilot task that are used here (docs.skypilot.co: SkyPilot YAML). */
const taskKeys = {
  task: [
    "name",
    "workdir",
    "num_nodes",
    "resources",
    "envs",
    "secrets",
    "volumes",
    "file_mounts",
    "setup",
    "run",
  ],
  resources: ["infra", "image_id", "accelerators", "cpus", "memory", "job_recovery"],
  job_recovery: ["strategy", "max_restarts_on_errors"],
};

/** Checks a SkyPilot task's fields. */
export function requireTask(task: Value): void {
  const parts = {
    task,
    resources: at(task, "resources"),
    job_recovery: at(task, "resources", "job_recovery"),
  };
  for (const [name, part] of Object.entries(parts)) {
    const known = taskKeys[name as keyof typeof taskKeys];
    assert.deepEqual(
      Object.keys(part as object).filter((key) => !known.includes(key)),
      [],
      name,
    );
  }
  assert.match(String(at(task, "resources", "accelerators")), /^\w+:\d+$/);
}
