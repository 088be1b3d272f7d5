/** The files that docs/many-machines.md shows: read by what reads them, and run as far as to who is which rank. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { launchOf } from "../../apps/cli/commands/launch/launch.ts";
import { rankEnvironment } from "../../apps/cli/commands/launch/rank-environment.ts";
import { withCallsJoined } from "../site/code-blocks.ts";
import { type Call, dryRun, requireOneJob } from "./dry-run.ts";
import {
  at,
  hasKubectl,
  requireIndexed,
  requireJobSet,
  requireKnownFields,
  requireTask,
  type Value,
} from "./manifests.ts";
import { batchVariables, fileOf, inner, page, requireTraining, withoutProgram } from "./many-machines.ts";

function documentsOf(begin: string): Value[] {
  return parseAllDocuments(fileOf(begin)).map((document) => {
    assert.deepEqual([document.errors, document.warnings], [[], []]);
    return document.toJS() as Value;
  });
}

/** The environments that a call of `seekrl launch` gives to its processes. */
function launched({ args, variables }: Pick<Call, "args" | "variables">): NodeJS.ProcessEnv[] {
  const [name, ...given] = args;
  const end = given.indexOf("--");
  assert.deepEqual([name, given.slice(end + 1)], ["launch", inner]);
  const flags: Record<string, unknown> = { command: inner };
  for (let i = 0; i < end; i += 2) {
    const key = given[i]?.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()) ?? "";
    flags[key] = /^\d+$/.test(given[i + 1] ?? "") ? Number(given[i + 1]) : given[i + 1];
  }
  const options = launchOf(() => []).options.parse(flags) as Record<string, number & string>;
  const { processes = 0, machines = 1, machine = 0, address = "127.0.0.1", port = 29_500 } = options;
  const layout = { processes, machines, machine, address, port, restarts: 0 };
  return Array.from({ length: processes }, (_, i) => rankEnvironment(layout, i, variables));
}

test("seekrl launch on one machine and by hand on two makes one job", () => {
  const calls = [...withCallsJoined(page).matchAll(/^npx seekrl (launch .* -- train --config .*)$/gm)].map(
    ([, call = ""]) => call.split(" "),
  );
  assert.equal(calls.length, 3);
  const [one = [], ...two] = calls.map((args) => launched({ args, variables: {} }));
  requireOneJob(one, { size: 8, localSize: 8, address: "127.0.0.1" });
  requireOneJob(two.flat(), { size: 16, localSize: 8, address: "node01", port: 29_500 });
});

test("the batch script of Slurm makes one job of all tasks, with a core for each of their threads", () => {
  const script = fileOf("#!/bin/bash");
  const { calls, options, code } = dryRun(script, batchVariables(script));
  const environments = requireTraining(calls);
  requireOneJob(environments, { size: 16, localSize: 8, address: "gpu07" });
  assert.deepEqual([code, environments[0]?.OMP_NUM_THREADS], [0, "12"]);
  const known = ["--kill-on-bad-exit=1", "--cpus-per-task=12", "--output=runs/slurm-%j-rank-%5t.log"];
  assert.deepEqual(options, known);
});

test("mpirun's call makes one job", () => {
  const { calls, options } = dryRun(fileOf("# mpirun.sh"));
  requireOneJob(requireTraining(calls), { size: 16, localSize: 8, address: "node01", port: 29_500 });
  assert.deepEqual(options, ["-np", "--host", "--bind-to", "-x", "-x", "-x"]);
});

/** The variables that a pod's container has: those of its manifest, and the index of the pod. */
function podVariables(
  job: Value,
  annotations: Readonly<Record<string, string>> = {},
): Record<string, string>[] {
  const env = at(job, "spec", "template", "spec", "containers", 0, "env") as Value[];
  const fixed = env.map((each) => {
    const { name, value } = each as Record<string, string>;
    if (value !== undefined) return [name, value];
    const field = String(at(each, "valueFrom", "fieldRef", "fieldPath"));
    const [, annotation = ""] = /^metadata\.annotations\['(.*)'\]$/.exec(field) ?? [];
    return [name, String(at(annotations, annotation))];
  });
  return Array.from({ length: Number(at(job, "spec", "completions")) }, (_, index) => ({
    ...Object.fromEntries(fixed),
    JOB_COMPLETION_INDEX: String(index),
  }));
}

const commandOf = (job: Value): string[] =>
  at(job, "spec", "template", "spec", "containers", 0, "command") as string[];

test("the Indexed Job is one job whose pods find each other by the Service", () => {
  const [service = null, job = null, ...others] = documentsOf("# job.yaml");
  assert.deepEqual([others, at(service, "kind"), at(job, "kind")], [[], "Service", "Job"]);
  assert.deepEqual([at(service, "apiVersion"), at(job, "apiVersion")], ["v1", "batch/v1"]);
  const [name, domain] = [at(job, "metadata", "name"), at(service, "metadata", "name")];
  assert.equal(at(service, "spec", "clusterIP"), "None");
  assert.deepEqual(at(service, "spec", "selector"), { "batch.kubernetes.io/job-name": name });
  assert.equal(at(job, "spec", "template", "spec", "subdomain"), domain);
  requireIndexed(at(job, "spec"));
  assert.deepEqual(commandOf(job).slice(2), inner);
  const expected = { size: 4, localSize: 1, address: `${name}-0.${domain}`, port: 29_500 };
  requireOneJob(podVariables(job), expected);
});

test("the JobSet is one job whose pods each start a process for every GPU", () => {
  const [jobSet = null, ...others] = documentsOf("# jobset.yaml");
  assert.deepEqual(others, []);
  const job = requireJobSet(jobSet);
  requireIndexed(at(job, "spec"), { isInJobSet: true });
  // As JobSet's controller writes it: the coordinator's pod, below the Service that has the JobSet's name.
  const coordinator = `${at(job, "metadata", "name")}-0.${at(jobSet, "metadata", "name")}`;
  const [shell, option, script = ""] = commandOf(job);
  assert.deepEqual([shell, option], ["bash", "-c"]);
  const environments = podVariables(job, { "jobset.sigs.k8s.io/coordinator": coordinator }).flatMap((pod) =>
    dryRun(script, pod).calls.map(withoutProgram).flatMap(launched),
  );
  requireOneJob(environments, { size: 16, localSize: 8, address: coordinator, port: 29_500 });
  const gpus = at(job, "spec", "template", "spec", "containers", 0, "resources", "limits", "nvidia.com/gpu");
  assert.equal(gpus, "8");
});

test("kubectl knows every field of the Job, the Service and the JobSet's Job", {
  skip: hasKubectl ? false : "kubectl is not installed",
}, () => {
  const manifests = [...documentsOf("# job.yaml"), requireJobSet(documentsOf("# jobset.yaml")[0] ?? null)];
  for (const manifest of manifests) requireKnownFields(manifest);
  const wrong = JSON.parse(JSON.stringify(manifests[1]).replace("backoffLimit", "backofLimit")) as Value;
  assert.throws(() => requireKnownFields(wrong), /backofLimit/);
});

test("the task of SkyPilot is one job with a process for each GPU of each node", () => {
  const [task = null, ...others] = documentsOf("# skypilot.yaml");
  assert.deepEqual(others, []);
  requireTask(task);
  const [nodes, gpus] = [
    Number(at(task, "num_nodes")),
    String(at(task, "resources", "accelerators")).split(":")[1],
  ];
  const ips = Array.from({ length: nodes }, (_, i) => `10.0.0.${i + 4}`);
  // The folder is the volume's.
  const script = String(at(task, "run")).replace("cd /shared\n", "");
  const environments = ips.flatMap((_, node) => {
    const variables = {
      ...{ SKYPILOT_NODE_RANK: String(node), SKYPILOT_NUM_NODES: String(nodes) },
      ...{ SKYPILOT_NODE_IPS: ips.join("\n"), SKYPILOT_NUM_GPUS_PER_NODE: gpus ?? "" },
    };
    return dryRun(script, variables).calls.map(withoutProgram).flatMap(launched);
  });
  requireOneJob(environments, { size: 16, localSize: 8, address: "10.0.0.4", port: 29_500 });
});
