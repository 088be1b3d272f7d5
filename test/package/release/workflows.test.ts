/** The workflows that check and release, read as the service reads them: no machine of it is asked. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { importScript, projectRoot } from "../../project.ts";

interface Step {
  readonly if?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly with?: { readonly name?: string; readonly pattern?: string };
  readonly env?: object;
}

interface Container {
  readonly image: string;
  readonly options: string;
}

interface Row {
  readonly platform: string;
  readonly runner: string;
  readonly container?: Container;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly if?: string;
  readonly container?: Container | string;
  readonly strategy?: { readonly matrix: { readonly include?: readonly Row[] } };
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly "continue-on-error"?: string | true;
  readonly steps: readonly Step[];
}

const needsOf = ({ needs = [] }: Job): readonly string[] => [needs].flat();

async function jobsOf(name: string): Promise<Record<string, Job>> {
  const text = await readFile(join(projectRoot, ".github", "workflows", name), "utf8");
  return (parse(text) as { jobs: Record<string, Job> }).jobs;
}

for (const name of ["check.yml", "release.yml"]) {
  test(`every command of ${name} is one that the project has`, async () => {
    const { scripts } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
    const jobs = await jobsOf(name);
    for (const needed of Object.values(jobs).flatMap(needsOf)) assert.ok(needed in jobs, needed);
    const lines = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    const all = lines.join("\n");
    for (const [, script = ""] of all.matchAll(/npm run ([\w:]+)/g)) assert.ok(script in scripts, script);
    const files = [...all.matchAll(/(?:node |^)((?:scripts|\.ci)\/[\w/.-]+)/gm)].map(([, file = ""]) => file);
    for (const file of files) assert.ok(existsSync(join(projectRoot, file)), file);
    assert.ok(files.length > 0);
  });
}

/** A variable of a row: one value on Linux, another where the compiler is a stranger and disks cannot be mounted. */
const onLinuxAlone = (value: string, other: string): string =>
  `\${{ matrix.platform != 'darwin-arm64' && '${value}' || '${other}' }}`;

test("every build of a release has the kernels of every GPU, and none without them is packed", async () => {
  const { platform } = await jobsOf("release.yml");
  assert.equal(platform?.env?.SEEKRL_CUDA_ARCHITECTURES, "all");
  assert.equal(platform?.env?.SEEKRL_WERROR, onLinuxAlone("ON", "OFF"));
  const commands = platform?.steps.map(({ run = "" }) => run) ?? [];
  const packing = commands.findIndex((run) => run.startsWith("npm run pack"));
  const looking = commands.findIndex((run) => run.includes("grep -x package/libseekrl_cuda.so"));
  assert.ok(packing !== -1 && packing < looking, `${commands}`);
  for (const step of platform?.steps ?? [])
    assert.equal(step.env, undefined, "a step builds as the others do");
});

test("both workflows try disks and old processors, or fail", async () => {
  const { platform } = await jobsOf("release.yml");
  const { check } = await jobsOf("check.yml");
  const own = check?.steps.find(({ run }) => run === ".ci/run");
  assert.equal(platform?.env?.SEEKRL_TEST_ALL, onLinuxAlone("1", "0"));
  assert.deepEqual(Object.entries(own?.env ?? {}).at(-1), ["SEEKRL_TEST_ALL", "1"]);
  assert.match(`${platform?.container}`, /^\$\{\{ matrix\.container \}\}$/);
  const rows = platform?.strategy?.matrix.include?.filter(({ platform }) => platform.startsWith("linux"));
  assert.equal(rows?.length, 2);
  const containers = [...(rows ?? []).map(({ container }) => container), check?.container as Container];
  for (const container of containers)
    assert.deepEqual(container, { image: "debian:12", options: "--privileged" });
  for (const job of [platform, check]) assert.match(job?.steps[0]?.run ?? "", / chromium .* qemu-user$/m);
});

test("only a pushed tag of the version is published, with the token that signs where packages come from", async () => {
  const { platform, publish, whole, consumer } = await jobsOf("release.yml");
  assert.equal(publish?.if, "github.event_name == 'push'");
  assert.deepEqual(publish?.permissions, { contents: "write", "id-token": "write" });
  assert.equal(publish?.environment, "npm");
  assert.deepEqual([whole?.needs, consumer?.needs], ["platform", "whole"]);
  assert.deepEqual(publish?.needs, ["consumer", "consumer-macos"]);
  const compared = platform?.steps.find(({ run }) => run?.includes("GITHUB_REF_NAME"));
  const { version } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
  const says = (tag: string): number | null =>
    spawnSync("sh", ["-ec", compared?.run ?? ""], {
      cwd: projectRoot,
      env: { PATH: process.env.PATH, GITHUB_REF_NAME: tag },
    }).status;
  assert.deepEqual([says(`v${version}`), says("v9.9.9"), says("main")], [0, 1, 1]);
});

test("every artifact that a job fetches is one that a job before it has made", async () => {
  const jobs = await jobsOf("release.yml");
  const named = (job: Job, action: string): Step[] =>
    job.steps.filter(({ uses }) => uses?.startsWith(`actions/${action}-artifact@`));
  const made = (name?: string): string[] => {
    const job = jobs[name ?? ""];
    if (job === undefined) return [];
    return [...needsOf(job).flatMap(made), ...named(job, "upload").map((step) => step.with?.name ?? "")];
  };
  const fetched = Object.values(jobs).flatMap((job) =>
    named(job, "download").map((step) => ({ job, name: step.with?.name ?? step.with?.pattern ?? "" })),
  );
  assert.equal(fetched.length, 4);
  for (const { job, name } of fetched) {
    const there = needsOf(job)
      .flatMap(made)
      .map((each) => each.replace(/\$\{\{.*\}\}/, "*"));
    assert.ok(there.includes(name), `${name} of ${there}`);
  }
});

test("a row of the release is a platform that has a package", async () => {
  const { platform } = await jobsOf("release.yml");
  const { platformNames } = await importScript("scripts/pack/platforms.mjs");
  const rows = platform?.strategy?.matrix.include ?? [];
  assert.deepEqual(rows.map((row) => row.platform).sort(), [...platformNames].sort());
});

/** The first majors that run on Node 24; GitHub takes Node 20 from its runners in 2026. */
const leastMajors: Readonly<Record<string, number>> = {
  ...{ checkout: 5, "setup-node": 5, cache: 5, "upload-artifact": 6, "download-artifact": 7 },
};

test("no action of the workflows runs on Node 20", async () => {
  const jobs = [await jobsOf("check.yml"), await jobsOf("release.yml")].flatMap((each) =>
    Object.values(each),
  );
  const used = jobs.flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
  for (const each of used) {
    const [, name = "", major] = /^actions\/([\w-]+)@v(\d+)$/.exec(each) ?? [];
    assert.ok(Number(major) >= (leastMajors[name] ?? Number.POSITIVE_INFINITY), each);
  }
  assert.ok(used.length > 0);
});

test("nothing is published that could not be installed, on optional platforms too", async () => {
  const { consumer, "consumer-macos": macos } = await jobsOf("release.yml");
  for (const job of [consumer, macos]) assert.equal(job?.["continue-on-error"], undefined);
});

test("a release without macOS is a release, and no container is asked for there", async () => {
  const { platform, "consumer-macos": consumer } = await jobsOf("release.yml");
  assert.match(`${platform?.["continue-on-error"]}`, /matrix\.platform == 'darwin-arm64'/);
  const row = platform?.strategy?.matrix.include?.find((each) => each.platform === "darwin-arm64");
  assert.deepEqual(row, { platform: "darwin-arm64", runner: "macos-15" });
  const conditions = consumer?.steps.flatMap((step) => step.if ?? []) ?? [];
  assert.equal(conditions.length, 2, "one says that there is none, one installs");
  for (const condition of conditions)
    assert.match(condition, /hashFiles\('build\/pack\/seekrl-darwin-arm64-/);
});

test("a release without arm64 is a release", async () => {
  const { platform, consumer } = await jobsOf("release.yml");
  assert.match(`${platform?.["continue-on-error"]}`, /matrix\.platform == 'linux-arm64'/);
  const conditions = consumer?.steps.flatMap((step) => step.if ?? []) ?? [];
  assert.equal(conditions.length, 2, "one says that there is none, one installs");
  for (const condition of conditions) assert.match(condition, /hashFiles\('build\/pack\/seekrl-linux-arm64-/);
});
