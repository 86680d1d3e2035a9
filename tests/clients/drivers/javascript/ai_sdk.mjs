// ai: streamText with several steps. The provider is the argument after the prompt.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { DESCRIPTIONS, MODEL, PROMPT, runTool, SCHEMAS, TURNS } from "./two_tools.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const chat = { baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY };
const anthropic = () => {
  const host = process.env.ANTHROPIC_BASE_URL.replace(/\/v1\/?$/, "");
  return createAnthropic({ baseURL: `${host}/v1`, apiKey: process.env.ANTHROPIC_API_KEY });
};
const models = {
  "openai-compatible": () => createOpenAICompatible({ name: "compatible", ...chat })(MODEL),
  "openai-chat": () => createOpenAI(chat).chat(MODEL),
  "openai-responses": () => createOpenAI(chat).responses(MODEL),
  openrouter: () => createOpenRouter(chat).chat(MODEL),
  anthropic: () => anthropic()("claude-sonnet-4-5"),
};
const tools = Object.entries(SCHEMAS).map(([name, schema]) => [
  name,
  tool({ description: DESCRIPTIONS[name], inputSchema: jsonSchema(schema), execute: (given) => runTool(name, given) }),
]);
const answer = streamText({
  model: models[process.argv[3]](),
  prompt: PROMPT,
  tools: Object.fromEntries(tools),
  stopWhen: stepCountIs(TURNS),
  onError: () => {},
});
for await (const part of answer.fullStream) if (part.type === "error") throw part.error;
