// A model that plays a script, so that a real agent can be run without a network: the chat completions of
// OpenAI, streamed, on loopback only. `node model.mjs <script.json>` prints its port once it listens.
//
// The script is a list of turns, `{"bash": "<command>"}` or `{"say": "<text>"}`. Which turn it is follows from
// the tool results in the conversation, so the model keeps no state and any number of agents can share it.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";

const script = JSON.parse(readFileSync(process.argv[2], "utf8"));

function chunks(turn, tools) {
  const chunk = (delta, finish_reason, usage) => ({
    id: `turn-${turn}`,
    object: "chat.completion.chunk",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, delta, finish_reason }],
    ...usage,
  });
  const step = script[turn] ?? { say: "done" };
  const usage = { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  if (step.bash === undefined) {
    return [chunk({ role: "assistant", content: step.say }, null), chunk({}, "stop", usage)];
  }
  const name = tools.map((tool) => tool.function?.name).find((name) => /bash|shell/i.test(name)) ?? "bash";
  const call = { name, arguments: JSON.stringify({ command: step.bash }) };
  const tool_calls = [{ index: 0, id: `call-${turn}`, type: "function", function: call }];
  return [chunk({ role: "assistant", tool_calls }, null), chunk({}, "tool_calls", usage)];
}

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    if (request.method !== "POST") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
      return;
    }
    const { messages = [], tools = [] } = JSON.parse(body);
    const turn = messages.filter((message) => message.role === "tool").length;
    response.writeHead(200, { "content-type": "text/event-stream" });
    chunks(turn, tools).forEach((part) => response.write(`data: ${JSON.stringify(part)}\n\n`));
    response.end("data: [DONE]\n\n");
  });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
