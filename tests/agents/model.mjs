// A model that plays a script, so that a real agent can be run without a network: the chat completions and the
// responses of OpenAI, streamed, on loopback only. `node model.mjs <script.json>` prints its port once it listens.
//
// The script is a list of turns, `{"bash": "<command>"}` or `{"say": "<text>"}`, in which `{answer}` stands for what a
// person has answered. Which turn it is follows from the tool results and the answers in the conversation, so that any
// number of agents can share it. With `"fail": [429, …]` a turn fails first, once with each of these statuses, and with
// `"after": <milliseconds>` it is slow; how often it failed is all that the model remembers.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";

const script = JSON.parse(readFileSync(process.argv[2], "utf8"));

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const text = (step) => step.say ?? "done";

const failed = new Map();

// The status that a turn fails with this time, if it does.
function failure(turn) {
  const times = failed.get(turn) ?? 0;
  failed.set(turn, times + 1);
  return script[turn]?.fail?.[times];
}

// What was answered, in the words of the tool.
function answers(messages) {
  const said = messages.filter((one) => one.role === "user").map((one) => JSON.stringify(one.content ?? ""));
  return said.flatMap((one) => one.match(/The answer: [^"\\]*/) ?? []).map((one) => one.slice(12));
}

// The name of the tool that runs commands, and what it is given.
function call(step, tools, answer) {
  const names = tools.map((tool) => tool.name ?? tool.function?.name ?? "");
  const name = names.find((name) => /bash|shell|exec_command/i.test(name)) ?? "bash";
  const bash = step.bash.replaceAll("{answer}", answer);
  const given = name === "exec_command" ? { cmd: bash } : { command: bash };
  return { name, arguments: JSON.stringify(given) };
}

function events(turn, tools, answer) {
  const step = script[turn] ?? {};
  const response = { id: `turn-${turn}`, object: "response", status: "in_progress", output: [] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const item = step.bash
    ? { type: "function_call", id: `item-${turn}`, call_id: `call-${turn}`, ...call(step, tools, answer) }
    : {
        type: "message",
        id: `item-${turn}`,
        role: "assistant",
        content: [{ type: "output_text", text: text(step), annotations: [] }],
      };
  return [
    { type: "response.created", response },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { ...response, status: "completed", output: [item], usage } },
  ];
}

function chunks(turn, tools, answer) {
  const chunk = (delta, finish_reason, usage) => ({
    id: `turn-${turn}`,
    object: "chat.completion.chunk",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, delta, finish_reason }],
    ...usage,
  });
  const step = script[turn] ?? {};
  const usage = { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  if (!step.bash) {
    return [chunk({ role: "assistant", content: text(step) }, null), chunk({}, "stop", usage)];
  }
  const tool_calls = [{ index: 0, id: `call-${turn}`, type: "function", function: call(step, tools, answer) }];
  return [chunk({ role: "assistant", tool_calls }, null), chunk({}, "tool_calls", usage)];
}

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", async () => {
    if (request.method !== "POST") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
      return;
    }
    const { messages = [], input = [], tools = [] } = JSON.parse(body);
    const results = [...messages, ...input].filter((one) => one.role === "tool" || /call_output$/.test(one.type));
    const answered = answers([...messages, ...input]);
    const [turn, answer] = [results.length + answered.length, answered.at(-1) ?? ""];
    // A title for the session, as one agent asks for it, is no turn.
    const status = tools.length > 0 ? failure(turn) : undefined;
    if (status) {
      console.error(`turn ${turn} fails with ${status}`);
      response.writeHead(status, { "content-type": "application/json", "retry-after-ms": "50", connection: "close" });
      response.end(JSON.stringify({ error: { message: `Overloaded (${status})`, type: "server_error", code: "overloaded" } }));
      return;
    }
    await pause(script[turn]?.after ?? 0);
    response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
    if (request.url.endsWith("/responses")) {
      for (const event of events(turn, tools, answer)) {
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      response.end();
      return;
    }
    chunks(turn, tools, answer).forEach((part) => response.write(`data: ${JSON.stringify(part)}\n\n`));
    response.end("data: [DONE]\n\n");
  });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
