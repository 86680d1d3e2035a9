// The Pi SDK with one tool, streaming: prints why it stopped, runs the calls that it has, and asks again.
import { complete } from "@mariozechner/pi-ai";

const model = {
  id: "openrouter/auto",
  name: "auto",
  api: "openai-completions",
  provider: "openrouter",
  baseUrl: process.env.OPENAI_BASE_URL,
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 100000,
  maxTokens: 1000,
};
const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const tools = [{ name: "read_file", description: "Reads a file.", parameters }];
const messages = [{ role: "user", content: "Is there a licence?", timestamp: 0 }];
for (let turn = 0; turn < 2; turn += 1) {
  const answer = await complete(model, { messages, tools }, { apiKey: process.env.OPENAI_API_KEY });
  const calls = answer.content.filter((block) => block.type === "toolCall");
  const text = answer.content.filter((block) => block.type === "text").map((block) => block.text);
  console.log(`the client says: ${text.join("")}`);
  console.log(`it stops with ${answer.stopReason} and ${calls.length} calls`);
  if (calls.length === 0) break;
  messages.push(answer);
  for (const call of calls) {
    console.log(`the client runs ${call.name} with ${JSON.stringify(call.arguments)}`);
    const content = [{ type: "text", text: "MIT" }];
    messages.push({ role: "toolResult", toolCallId: call.id, toolName: call.name, content, isError: false, timestamp: 0 });
  }
}
