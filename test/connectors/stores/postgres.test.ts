/** A PostgreSQL server that is slow, is left, goes away and comes back. */
import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Postgres } from "../../../connectors/stores/postgres.ts";
import { startNativePostgres } from "./native-postgres.ts";

const server = await startNativePostgres();
after(() => server?.remove());
const skip = server === undefined ? "PostgreSQL's programs are not installed" : false;
const connection = server?.url;
const sleep = [{ text: "select pg_sleep(20)" }];

async function numSleeping(database: Postgres): Promise<number> {
  const text =
    "select count(*)::int as count from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'";
  return (await database.run<{ count: number }>([{ text }]))[0]?.count ?? Number.NaN;
}

test("a statement ends at its time-out, on the server too", { skip }, async () => {
  const database = new Postgres({ connection, transport: { timeoutMs: 200, retries: 0 } });
  await assert.rejects(database.run(sleep), {
    code: "ERR_REMOTE",
    message: /canceling statement due to statement timeout/,
  });
  assert.equal(await numSleeping(database), 0);
  await database.close();
});

test("a signal cancels the statement on the server", { skip }, async () => {
  const database = new Postgres({ connection });
  const started = performance.now();
  await assert.rejects(database.run(sleep, AbortSignal.timeout(150)), { code: "ERR_ABORTED" });
  assert.ok(performance.now() - started < 5000);
  for (let i = 0; i < 40 && (await numSleeping(database)) > 0; i += 1) await delay(25);
  assert.equal(await numSleeping(database), 0);
  await database.close();
});

test("a server that restarts is asked again", { skip }, async () => {
  const database = new Postgres({ connection, transport: { retries: 6 } });
  const one = [{ text: "select 1 as one" }];
  assert.deepEqual(await database.run(one), [{ one: 1 }]);
  server?.stop();
  const waiting = database.run(one);
  await delay(250);
  server?.start();
  assert.deepEqual(await waiting, [{ one: 1 }]);
  await database.close();
});

test("several statements are one transaction: all of them or none", { skip }, async () => {
  const database = new Postgres({ connection });
  await database.run([{ text: "create table kept (id int primary key)" }]);
  const insert = { text: "insert into kept values ($1)", values: [1] };
  await assert.rejects(database.run([insert, insert]), { message: /duplicate key value/ });
  assert.deepEqual(await database.run([{ text: "select * from kept" }]), []);
  await database.close();
});
