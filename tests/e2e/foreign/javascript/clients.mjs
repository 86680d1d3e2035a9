// Reads responses with JavaScript clients. A line on stdin is a task, a line on stdout its result:
//   {"client", "url", "headers", "model", "tools": [{"name", "description", "parameters"}]}
//   {"calls": [[name, arguments, id], ...], "finish"} or {"error"}
// Over a WebSocket several responses are read on one connection, `lanes` of them concurrently:
//   {..., "responses", "lanes", "compressed"}
//   {"responses": [[[name, arguments], ...], ...]} or {"error"}
import { createInterface } from "node:readline";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, Runner, tool as agentTool } from "@openai/agents";
import { OpenAIResponsesWSModel } from "@openai/agents-openai";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { jsonSchema, streamText, tool } from "ai";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { ResponsesWS } from "openai/resources/responses/ws";
import { WebSocket } from "ws";

globalThis.AI_SDK_LOG_WARNINGS = false;
console.error = console.warn = console.log = () => {};

const QUESTION = [{ role: "user", content: "Go on." }];

const withHeaders = (extra) => (input, init = {}) => {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(extra)) headers.set(name, value);
  return fetch(input, { ...init, headers });
};

async function aiSdk(model, task) {
  const tools = task.tools.map((one) => [
    one.name,
    tool({ description: one.description, inputSchema: jsonSchema(one.parameters) }),
  ]);
  const response = streamText({
    model, messages: QUESTION, tools: Object.fromEntries(tools), maxRetries: 0, onError: () => {},
  });
  const calls = [];
  let finish = null;
  for await (const part of response.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish") finish = part.finishReason;
    if (part.type !== "tool-call") continue;
    if (part.invalid) throw new Error(`invalid input for ${part.toolName}`);
    calls.push([part.toolName, part.input, part.toolCallId]);
  }
  return { calls, finish };
}

async function langchain(task, own) {
  const model = new ChatOpenAI({
    model: task.model, apiKey: "none", maxRetries: 0, streaming: true, ...own,
    configuration: { baseURL: `${task.url}/v1`, fetch: task.fetch },
  });
  const tools = task.tools.map((one) => ({ type: "function", function: one }));
  let all;
  for await (const chunk of await model.bindTools(tools).stream("Go on.")) all = all ? all.concat(chunk) : chunk;
  if (all.invalid_tool_calls?.length) throw new Error("invalid tool calls");
  const finish = all.response_metadata.finish_reason ?? all.response_metadata.status ?? null;
  return { calls: all.tool_calls.map((one) => [one.name, one.args, one.id]), finish };
}

const openai = ({ url, fetch }) => new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, fetch, maxRetries: 0 });
const aiOpenai = ({ url, fetch }) => createOpenAI({ apiKey: "none", baseURL: `${url}/v1`, fetch });

const functions = ({ tools }) => tools.map((one) => ({ type: "function", ...one }));

// The calls of each response on an open socket. Concurrent responses are distinguished by their lane or their id.
async function overSocket(task, socket, types, create) {
  const responses = [];
  let round;
  socket.on("error", (error) => round.reject(error));
  socket.on("event", (event) => {
    if (!types.includes(event.type)) return;
    round.ended.set(event.stream_id ?? event.response.id, event.response);
    if (round.ended.size === task.lanes) round.resolve();
  });
  while (responses.length < task.responses) {
    const ended = new Map();
    await new Promise((resolve, reject) => {
      round = { ended, resolve, reject };
      for (let lane = 0; lane < task.lanes; lane += 1) socket.send(create(lane));
    });
    for (const key of [...ended.keys()].sort()) {
      const items = ended.get(key).output.filter((one) => one.type === "function_call");
      responses.push(items.map((one) => [one.name, JSON.parse(one.arguments)]));
    }
  }
  socket.close();
  return { responses };
}

// The calls that an agent runs for each response; it does not send their results.
async function agentOverSocket(task) {
  globalThis.WebSocket = class extends WebSocket {
    constructor(url, protocols, options) {
      const given = Array.isArray(protocols) || typeof protocols === "string" ? options : protocols;
      super(url, Array.isArray(protocols) ? protocols : [], { ...given, perMessageDeflate: task.compressed });
    }
  };
  const client = new OpenAI({ apiKey: "none", baseURL: `${task.url}/v1`, defaultHeaders: task.headers, maxRetries: 0 });
  const model = new OpenAIResponsesWSModel(client, task.model);
  let calls;
  const tools = task.tools.map((one) =>
    agentTool({ ...one, strict: false, execute: (given) => { calls.push([one.name, given]); return "done"; } }));
  const agent = new Agent({ name: "agent", model, tools, toolUseBehavior: "stop_on_first_tool" });
  const runner = new Runner({ tracingDisabled: true });
  const responses = [];
  while (responses.length < task.responses) {
    calls = [];
    const run = await runner.run(agent, "Go on.", { stream: true });
    for await (const _event of run);
    await run.completed;
    responses.push(calls);
  }
  await model.close();
  return { responses };
}

const CLIENTS = {
  "openai chat.stream": async (task) => {
    const tools = task.tools.map((one) => ({ type: "function", function: one }));
    const stream = openai(task).chat.completions.stream({ model: task.model, messages: QUESTION, tools });
    const [choice] = (await stream.finalChatCompletion()).choices;
    const calls = choice.message.tool_calls ?? [];
    return {
      calls: calls.map((one) => [one.function.name, JSON.parse(one.function.arguments), one.id]),
      finish: choice.finish_reason,
    };
  },
  "openai chat.stream events": async (task) => {
    const tools = task.tools.map((one) => ({ type: "function", function: { ...one, strict: true } }));
    const stream = openai(task).chat.completions.stream({ model: task.model, messages: QUESTION, tools });
    const calls = [];
    stream.on("tool_calls.function.arguments.done", (one) => calls.push([one.name, one.arguments, null]));
    const [choice] = (await stream.finalChatCompletion()).choices;
    return { calls, finish: choice.finish_reason };
  },
  "openai responses.stream": async (task) => {
    const response = await openai(task).responses.stream({ model: task.model, input: "Go on." }).finalResponse();
    const items = response.output.filter((one) => one.type === "function_call");
    return { calls: items.map((one) => [one.name, JSON.parse(one.arguments), one.call_id]), finish: response.status };
  },
  "openai responses.connect": (task) => {
    const own = { headers: task.headers, perMessageDeflate: task.compressed };
    const lanes = (lane) => (task.lanes > 1 ? { stream_id: `lane ${lane}` } : {});
    return overSocket(
      task,
      new ResponsesWS(openai(task), own),
      ["response.completed", "response.incomplete"],
      (lane) => ({
        type: "response.create", model: task.model, input: "Go on.", tools: functions(task), ...lanes(lane),
      }),
    );
  },
  "openai realtime": async (task) => {
    const own = { headers: task.headers, perMessageDeflate: task.compressed };
    const socket = new OpenAIRealtimeWS({ model: task.model, options: own }, openai(task));
    await new Promise((resolve, reject) => { socket.socket.on("open", resolve); socket.on("error", reject); });
    socket.send({ type: "session.update", session: { type: "realtime", tools: functions(task) } });
    return overSocket(task, socket, ["response.done"], () => ({ type: "response.create" }));
  },
  "agents responses": agentOverSocket,
  "ai openai-compatible": (task) =>
    aiSdk(
      createOpenAICompatible({ name: "p", apiKey: "none", baseURL: `${task.url}/v1`, fetch: task.fetch })
        .chatModel(task.model),
      task,
    ),
  "ai openai.chat": (task) => aiSdk(aiOpenai(task).chat(task.model), task),
  "ai openrouter": (task) =>
    aiSdk(createOpenRouter({ apiKey: "none", baseURL: `${task.url}/v1`, fetch: task.fetch }).chat(task.model), task),
  "ai openai.responses": (task) => aiSdk(aiOpenai(task).responses(task.model), task),
  "ai anthropic": (task) =>
    aiSdk(createAnthropic({ apiKey: "none", baseURL: `${task.url}/v1`, fetch: task.fetch })(task.model), task),
  "ai google": (task) =>
    aiSdk(
      createGoogleGenerativeAI({ apiKey: "none", baseURL: `${task.url}/v1beta`, fetch: task.fetch })(task.model),
      task,
    ),
  "langchain chat": (task) => langchain(task, {}),
  "langchain responses": (task) => langchain(task, { useResponsesApi: true }),
  "anthropic messages.stream": async (task) => {
    const client = new Anthropic({ apiKey: "none", baseURL: task.url, fetch: task.fetch, maxRetries: 0 });
    const stream = client.messages.stream({ model: task.model, max_tokens: 100, messages: QUESTION });
    const message = await stream.finalMessage();
    const blocks = message.content.filter((one) => one.type === "tool_use");
    return { calls: blocks.map((one) => [one.name, one.input, one.id]), finish: message.stop_reason };
  },
  "google-genai": async (task) => {
    const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: task.url, headers: task.headers } });
    const calls = [];
    let finish = null;
    for await (const chunk of await client.models.generateContentStream({ model: task.model, contents: "Go on." })) {
      for (const one of chunk.functionCalls ?? []) calls.push([one.name, one.args ?? {}, null]);
      finish = chunk.candidates?.[0]?.finishReason ?? finish;
    }
    return { calls, finish };
  },
  ollama: async (task) => {
    const client = new Ollama({ host: task.url, fetch: task.fetch });
    const calls = [];
    let finish = null;
    for await (const part of await client.chat({ model: task.model, messages: QUESTION, stream: true })) {
      for (const one of part.message?.tool_calls ?? []) calls.push([one.function.name, one.function.arguments, null]);
      finish = part.done_reason ?? finish;
    }
    return { calls, finish };
  },
};

// Time limits of one response, and of all responses on a socket.
const MILLISECONDS = 10_000;
const OVER_SOCKET = 50_000;

// An unhandled error of a client is the result of its task, not the end of this process.
let fail = () => {};
process.on("unhandledRejection", (error) => fail(error));
process.on("uncaughtException", (error) => fail(error));

for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  task.fetch = withHeaders(task.headers);
  let result, timer;
  try {
    const failing = new Promise((_, reject) => {
      fail = reject;
      timer = setTimeout(reject, task.responses ? OVER_SOCKET : MILLISECONDS, new Error("timeout"));
    });
    result = await Promise.race([CLIENTS[task.client](task), failing]);
  } catch (error) {
    result = { error: `${error?.name}: ${error?.message}` };
  }
  clearTimeout(timer);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
