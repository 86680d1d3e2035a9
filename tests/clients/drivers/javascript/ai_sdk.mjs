// ai: streamText with several steps. The provider is the argument after the prompt; its package is loaded alone.
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { DESCRIPTIONS, MODEL, PROMPT, runTool, SCHEMAS, TURNS } from "./two_tools.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const { env } = process;
const CLAUDE = "claude-sonnet-4-5";
const chat = { baseURL: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY };
const withoutVersion = (address) => address.replace(/\/v[0-9a-z]+\/?$/, "");
const ofChat = async (name, create) => (await import(name))[create](chat);
const models = {
  "openai-compatible": async () => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({ name: "compatible", ...chat })(MODEL);
  },
  "openai-chat": async () => (await ofChat("@ai-sdk/openai", "createOpenAI")).chat(MODEL),
  "openai-responses": async () => (await ofChat("@ai-sdk/openai", "createOpenAI")).responses(MODEL),
  openrouter: async () => (await ofChat("@openrouter/ai-sdk-provider", "createOpenRouter")).chat(MODEL),
  deepseek: async () => (await ofChat("@ai-sdk/deepseek", "createDeepSeek"))(MODEL),
  groq: async () => (await ofChat("@ai-sdk/groq", "createGroq"))(MODEL),
  mistral: async () => (await ofChat("@ai-sdk/mistral", "createMistral"))(MODEL),
  anthropic: async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const baseURL = `${withoutVersion(env.ANTHROPIC_BASE_URL)}/v1`;
    return createAnthropic({ baseURL, apiKey: env.ANTHROPIC_API_KEY })(CLAUDE);
  },
  bedrock: async () => {
    const { createAmazonBedrock } = await import("@ai-sdk/amazon-bedrock");
    const baseURL = env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME;
    return createAmazonBedrock({ baseURL, apiKey: env.AWS_BEARER_TOKEN_BEDROCK })(`anthropic.${CLAUDE}-v1:0`);
  },
  cohere: async () => {
    const { createCohere } = await import("@ai-sdk/cohere");
    const baseURL = `${withoutVersion(env.CO_API_URL)}/v2`;
    return createCohere({ baseURL, apiKey: env.CO_API_KEY })("command-a-03-2025");
  },
  google: async () => {
    const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
    const baseURL = `${withoutVersion(env.GOOGLE_GEMINI_BASE_URL)}/v1beta`;
    return createGoogleGenerativeAI({ baseURL, apiKey: env.GEMINI_API_KEY })("gemini-2.5-flash");
  },
};
const tools = Object.entries(SCHEMAS).map(([name, schema]) => [
  name,
  tool({ description: DESCRIPTIONS[name], inputSchema: jsonSchema(schema), execute: (given) => runTool(name, given) }),
]);
const answer = streamText({
  model: await models[process.argv[3]](),
  prompt: PROMPT,
  tools: Object.fromEntries(tools),
  stopWhen: stepCountIs(TURNS),
  onError: () => {},
});
for await (const part of answer.fullStream) if (part.type === "error") throw part.error;
