// Both TypeScript clients of the official SDK against a Duetty server; prints what they saw as JSON.
// node peer.mjs v1|v2 stdio|http legacy|auto  (PEER_URL, PEER_TOKEN, PEER_COMMAND as JSON array)
const [generation, transportName, era] = process.argv.slice(2);
const command = JSON.parse(process.env.PEER_COMMAND ?? "[]");
const seen = { updated: [], listChanged: 0, progress: [] };

async function parts() {
  if (generation === "v1") {
    const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, types] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/stdio.js"),
      import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      import("@modelcontextprotocol/sdk/types.js"),
    ]);
    return { Client, StdioClientTransport, StreamableHTTPClientTransport, types };
  }
  const client = await import("@modelcontextprotocol/client");
  const stdio = await import("@modelcontextprotocol/client/stdio");
  return { ...client, ...stdio, types: null };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport, types } = await parts();
const transport =
  transportName === "stdio"
    ? new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "ignore" })
    : new StreamableHTTPClientTransport(new URL(process.env.PEER_URL), {
        requestInit: { headers: { Authorization: `Bearer ${process.env.PEER_TOKEN}` } },
      });
const options = generation === "v2" && era === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "peer", version: "0" }, { capabilities: {}, ...options });

if (generation === "v1") {
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, (n) => seen.updated.push(n.params.uri));
  client.setNotificationHandler(types.ResourceListChangedNotificationSchema, () => (seen.listChanged += 1));
} else {
  client.setNotificationHandler("notifications/resources/updated", (n) => seen.updated.push(n.params.uri));
  client.setNotificationHandler("notifications/resources/list_changed", () => (seen.listChanged += 1));
}

const call = async (name, args, options) =>
  generation === "v1"
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
const until = async (what) => {
  for (let i = 0; i < 200 && !what(); i += 1) await new Promise((resolve) => setTimeout(resolve, 50));
};

await client.connect(transport);
const session = `ts-${process.pid}`;
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const prompts = (await client.listPrompts()).prompts.length;
await call("wsh_create_session", { name: session });
const ran = await call("wsh_run_command", { session, input: "echo hello", view: "output" });
const deadline = await call("wsh_run_command", { session, input: "sleep 30", max_wait_ms: 300, interrupt: true });
const slow = await call(
  "wsh_run_command",
  { session, input: "echo a; sleep 1.5", view: "output" },
  { onprogress: (p) => seen.progress.push(p.message ?? "") },
);
let unknown = null;
try {
  await call("wsh_get_screen", { session: "nobody" });
} catch (error) {
  unknown = error.code;
}
const uri = `wsh://sessions/${session}/screen`;
const read = JSON.parse((await client.readResource({ uri })).contents[0].text);
if (era === "legacy") {
  await client.subscribeResource({ uri });
  await call("wsh_send_input", { session, input: "echo again\n" });
  await until(() => seen.updated.length > 0);
}
const abort = new AbortController();
const endless = { session, input: "sleep 600", interrupt: true };
const aborted = call("wsh_run_command", endless, { signal: abort.signal }).then(
  () => false,
  () => true,
);
setTimeout(() => abort.abort(), 400);
const wasAborted = await aborted;
const after = await call("wsh_run_command", { session, input: "echo alive", view: "output" });
await call("wsh_manage_session", { session, action: "kill" });
await client.close();
console.log(
  JSON.stringify({
    tools,
    prompts,
    output: ran.structuredContent.output,
    exitCode: ran.structuredContent.exit_code,
    deadlineIsError: deadline.isError === true,
    slow: slow.structuredContent.exit_code,
    progress: seen.progress.length,
    unknown,
    rows: read.rows,
    updated: seen.updated.length > 0,
    listChanged: seen.listChanged > 0,
    wasAborted,
    alive: after.structuredContent.output,
  }),
);
process.exit(0);
