// pi-ai, old and new package name: its stream of a model. The API is the argument after the prompt.
import { chatTools, MODEL, PROMPT, runTool, TURNS } from "./two_tools.mjs";

const modules = ["@earendil-works/pi-ai/compat", "@earendil-works/pi-ai", "@mariozechner/pi-ai"];
async function loaded() {
  for (const name of modules) {
    try {
      const found = await import(name);
      if (found.stream) return found;
    } catch (error) {
      if (!["ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"].includes(error.code)) throw error;
    }
  }
  throw new Error(`no module of ${modules.join(", ")} has stream`);
}

const { stream } = await loaded();
const model = {
  id: MODEL, name: MODEL, api: process.argv[3], provider: "openai", baseUrl: process.env.OPENAI_BASE_URL,
  reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 128000, maxTokens: 4096,
};
const tools = chatTools().map((one) => one.function);
const messages = [{ role: "user", content: PROMPT, timestamp: 0 }];
for (let turn = 0; turn < TURNS; turn += 1) {
  const answer = await stream(model, { messages, tools }, { apiKey: process.env.OPENAI_API_KEY }).result();
  if (["error", "aborted"].includes(answer.stopReason)) throw new Error(answer.errorMessage);
  const calls = answer.content.filter((block) => block.type === "toolCall");
  if (calls.length === 0) break;
  messages.push(answer);
  for (const one of calls) {
    const content = [{ type: "text", text: runTool(one.name, one.arguments) }];
    messages.push({
      role: "toolResult", toolCallId: one.id, toolName: one.name, content, isError: false, timestamp: 0,
    });
  }
}
