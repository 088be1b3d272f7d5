/** The port of a launch is free, and none that the system would give to somebody else. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { freePort } from "../../apps/cluster/free-port.ts";

test("a free port can be listened on, and lies below those that connections are given", async () => {
  for (let i = 0; i < 20; ++i) {
    const port = await freePort();
    assert.ok(port < 32_768, `${port}: from 32,768 on Linux gives ports to any connection`);
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
    await once(server, "close");
  }
});
