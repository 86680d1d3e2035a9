// @anthropic-ai/sdk, Messages, with its streaming helper.
import Anthropic from "@anthropic-ai/sdk";
import { DESCRIPTIONS, PROMPT, runTool, SCHEMAS, TURNS } from "./two_tools.mjs";

const client = new Anthropic();
const tools = Object.entries(SCHEMAS).map(([name, schema]) => ({
  name, description: DESCRIPTIONS[name], input_schema: schema,
}));
const messages = [{ role: "user", content: PROMPT }];
for (let turn = 0; turn < TURNS; turn += 1) {
  const stream = client.messages.stream({ model: "claude-sonnet-4-5", max_tokens: 1024, messages, tools });
  const { content } = await stream.finalMessage();
  const calls = content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) break;
  const results = calls.map((one) => ({
    type: "tool_result", tool_use_id: one.id, content: runTool(one.name, one.input),
  }));
  messages.push({ role: "assistant", content }, { role: "user", content: results });
}
