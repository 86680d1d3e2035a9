// Reads answers with JavaScript clients. A line on stdin asks for one reading, a line on stdout tells it:
//   {"client", "url", "headers", "model", "tools": [{"name", "description", "parameters"}]}
//   {"calls": [[name, arguments, id], ...], "finish"} or {"error"}
// Over a WebSocket several answers are read on one connection, `lanes` of them at a time:
//   {..., "answers", "lanes", "compressed"}
//   {"answers": [[[name, arguments], ...], ...]} or {"error"}
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

async function aiSdk(model, asked) {
  const tools = asked.tools.map((one) => [
    one.name,
    tool({ description: one.description, inputSchema: jsonSchema(one.parameters) }),
  ]);
  const answer = streamText({
    model, messages: QUESTION, tools: Object.fromEntries(tools), maxRetries: 0, onError: () => {},
  });
  const calls = [];
  let finish = null;
  for await (const part of answer.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish") finish = part.finishReason;
    if (part.type !== "tool-call") continue;
    if (part.invalid) throw new Error(`invalid input for ${part.toolName}`);
    calls.push([part.toolName, part.input, part.toolCallId]);
  }
  return { calls, finish };
}

async function langchain(asked, own) {
  const model = new ChatOpenAI({
    model: asked.model, apiKey: "none", maxRetries: 0, streaming: true, ...own,
    configuration: { baseURL: `${asked.url}/v1`, fetch: asked.fetch },
  });
  const tools = asked.tools.map((one) => ({ type: "function", function: one }));
  let all;
  for await (const chunk of await model.bindTools(tools).stream("Go on.")) all = all ? all.concat(chunk) : chunk;
  if (all.invalid_tool_calls?.length) throw new Error("invalid tool calls");
  const finish = all.response_metadata.finish_reason ?? all.response_metadata.status ?? null;
  return { calls: all.tool_calls.map((one) => [one.name, one.args, one.id]), finish };
}

const openai = ({ url, fetch }) => new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, fetch, maxRetries: 0 });
const aiOpenai = ({ url, fetch }) => createOpenAI({ apiKey: "none", baseURL: `${url}/v1`, fetch });

const functions = ({ tools }) => tools.map((one) => ({ type: "function", ...one }));

// The calls of each answer on an open socket. Those that come at once are told apart by their lane, or by their id.
async function overSocket(asked, socket, types, create) {
  const answers = [];
  let round;
  socket.on("error", (error) => round.reject(error));
  socket.on("event", (event) => {
    if (!types.includes(event.type)) return;
    round.ended.set(event.stream_id ?? event.response.id, event.response);
    if (round.ended.size === asked.lanes) round.resolve();
  });
  while (answers.length < asked.answers) {
    const ended = new Map();
    await new Promise((resolve, reject) => {
      round = { ended, resolve, reject };
      for (let lane = 0; lane < asked.lanes; lane += 1) socket.send(create(lane));
    });
    for (const key of [...ended.keys()].sort()) {
      const items = ended.get(key).output.filter((one) => one.type === "function_call");
      answers.push(items.map((one) => [one.name, JSON.parse(one.arguments)]));
    }
  }
  socket.close();
  return { answers };
}

// The calls that an agent runs for each answer, of whose results it tells the model nothing.
async function agentOverSocket(asked) {
  globalThis.WebSocket = class extends WebSocket {
    constructor(url, protocols, options) {
      const given = Array.isArray(protocols) || typeof protocols === "string" ? options : protocols;
      super(url, Array.isArray(protocols) ? protocols : [], { ...given, perMessageDeflate: asked.compressed });
    }
  };
  const client = new OpenAI({ apiKey: "none", baseURL: `${asked.url}/v1`, defaultHeaders: asked.headers, maxRetries: 0 });
  const model = new OpenAIResponsesWSModel(client, asked.model);
  let calls;
  const tools = asked.tools.map((one) =>
    agentTool({ ...one, strict: false, execute: (given) => { calls.push([one.name, given]); return "done"; } }));
  const agent = new Agent({ name: "agent", model, tools, toolUseBehavior: "stop_on_first_tool" });
  const runner = new Runner({ tracingDisabled: true });
  const answers = [];
  while (answers.length < asked.answers) {
    calls = [];
    const run = await runner.run(agent, "Go on.", { stream: true });
    for await (const _event of run);
    await run.completed;
    answers.push(calls);
  }
  await model.close();
  return { answers };
}

const CLIENTS = {
  "openai chat.stream": async (asked) => {
    const tools = asked.tools.map((one) => ({ type: "function", function: one }));
    const stream = openai(asked).chat.completions.stream({ model: asked.model, messages: QUESTION, tools });
    const [choice] = (await stream.finalChatCompletion()).choices;
    const calls = choice.message.tool_calls ?? [];
    return {
      calls: calls.map((one) => [one.function.name, JSON.parse(one.function.arguments), one.id]),
      finish: choice.finish_reason,
    };
  },
  "openai chat.stream events": async (asked) => {
    const tools = asked.tools.map((one) => ({ type: "function", function: { ...one, strict: true } }));
    const stream = openai(asked).chat.completions.stream({ model: asked.model, messages: QUESTION, tools });
    const calls = [];
    stream.on("tool_calls.function.arguments.done", (one) => calls.push([one.name, one.arguments, null]));
    const [choice] = (await stream.finalChatCompletion()).choices;
    return { calls, finish: choice.finish_reason };
  },
  "openai responses.stream": async (asked) => {
    const response = await openai(asked).responses.stream({ model: asked.model, input: "Go on." }).finalResponse();
    const items = response.output.filter((one) => one.type === "function_call");
    return { calls: items.map((one) => [one.name, JSON.parse(one.arguments), one.call_id]), finish: response.status };
  },
  "openai responses.connect": (asked) => {
    const own = { headers: asked.headers, perMessageDeflate: asked.compressed };
    const lanes = (lane) => (asked.lanes > 1 ? { stream_id: `lane ${lane}` } : {});
    return overSocket(
      asked,
      new ResponsesWS(openai(asked), own),
      ["response.completed", "response.incomplete"],
      (lane) => ({
        type: "response.create", model: asked.model, input: "Go on.", tools: functions(asked), ...lanes(lane),
      }),
    );
  },
  "openai realtime": async (asked) => {
    const own = { headers: asked.headers, perMessageDeflate: asked.compressed };
    const socket = new OpenAIRealtimeWS({ model: asked.model, options: own }, openai(asked));
    await new Promise((resolve, reject) => { socket.socket.on("open", resolve); socket.on("error", reject); });
    socket.send({ type: "session.update", session: { type: "realtime", tools: functions(asked) } });
    return overSocket(asked, socket, ["response.done"], () => ({ type: "response.create" }));
  },
  "agents responses": agentOverSocket,
  "ai openai-compatible": (asked) =>
    aiSdk(
      createOpenAICompatible({ name: "p", apiKey: "none", baseURL: `${asked.url}/v1`, fetch: asked.fetch })
        .chatModel(asked.model),
      asked,
    ),
  "ai openai.chat": (asked) => aiSdk(aiOpenai(asked).chat(asked.model), asked),
  "ai openrouter": (asked) =>
    aiSdk(createOpenRouter({ apiKey: "none", baseURL: `${asked.url}/v1`, fetch: asked.fetch }).chat(asked.model), asked),
  "ai openai.responses": (asked) => aiSdk(aiOpenai(asked).responses(asked.model), asked),
  "ai anthropic": (asked) =>
    aiSdk(createAnthropic({ apiKey: "none", baseURL: `${asked.url}/v1`, fetch: asked.fetch })(asked.model), asked),
  "ai google": (asked) =>
    aiSdk(
      createGoogleGenerativeAI({ apiKey: "none", baseURL: `${asked.url}/v1beta`, fetch: asked.fetch })(asked.model),
      asked,
    ),
  "langchain chat": (asked) => langchain(asked, {}),
  "langchain responses": (asked) => langchain(asked, { useResponsesApi: true }),
  "anthropic messages.stream": async (asked) => {
    const client = new Anthropic({ apiKey: "none", baseURL: asked.url, fetch: asked.fetch, maxRetries: 0 });
    const stream = client.messages.stream({ model: asked.model, max_tokens: 100, messages: QUESTION });
    const message = await stream.finalMessage();
    const blocks = message.content.filter((one) => one.type === "tool_use");
    return { calls: blocks.map((one) => [one.name, one.input, one.id]), finish: message.stop_reason };
  },
  "google-genai": async (asked) => {
    const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: asked.url, headers: asked.headers } });
    const calls = [];
    let finish = null;
    for await (const chunk of await client.models.generateContentStream({ model: asked.model, contents: "Go on." })) {
      for (const one of chunk.functionCalls ?? []) calls.push([one.name, one.args ?? {}, null]);
      finish = chunk.candidates?.[0]?.finishReason ?? finish;
    }
    return { calls, finish };
  },
  ollama: async (asked) => {
    const client = new Ollama({ host: asked.url, fetch: asked.fetch });
    const calls = [];
    let finish = null;
    for await (const part of await client.chat({ model: asked.model, messages: QUESTION, stream: true })) {
      for (const one of part.message?.tool_calls ?? []) calls.push([one.function.name, one.function.arguments, null]);
      finish = part.done_reason ?? finish;
    }
    return { calls, finish };
  },
};

// For one answer; many on a socket may take longer together.
const MILLISECONDS = 10_000;
const OVER_SOCKET = 50_000;

// What a client leaves unhandled is a reading that failed, not the end of this process.
let fail = () => {};
process.on("unhandledRejection", (error) => fail(error));
process.on("uncaughtException", (error) => fail(error));

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  asked.fetch = withHeaders(asked.headers);
  let told, timer;
  try {
    const failing = new Promise((_, reject) => {
      fail = reject;
      timer = setTimeout(reject, asked.answers ? OVER_SOCKET : MILLISECONDS, new Error("nothing came of it"));
    });
    told = await Promise.race([CLIENTS[asked.client](asked), failing]);
  } catch (error) {
    told = { error: `${error?.name}: ${error?.message}` };
  }
  clearTimeout(timer);
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
